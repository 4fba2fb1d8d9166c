// Writing an output element by element: through the cache, or past it when everything together
// exceeds it.
#if defined(NORMGRAD_CPU_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_CPU_ELEMENTWISE_INL_H
#undef NORMGRAD_CPU_ELEMENTWISE_INL_H
#else
#define NORMGRAD_CPU_ELEMENTWISE_INL_H
#endif

#include <algorithm>

#include "cpu/cache.h"
#include "cpu/vectors-inl.h"

NORMGRAD_TARGET_BEGIN

enum class Stores { kCached, kStreamed };

// `bytes`: of all inputs and outputs. With 32 MiB of cache, LayerNorm f16 8192x768 (37.7 MB) took 0.35 ns an element
// cached and 0.29 streamed, f32 (75 MB) 0.57 and 0.54 (2 threads, Zen 4; means of 6 interleaved rounds).
inline Stores stores_for(std::int64_t bytes) {
  return bytes > cpu::last_level_cache_bytes() ? Stores::kStreamed : Stores::kCached;
}

// to[i] = value(i, step) for i in [0, n), rounded once.
template <typename A, typename T, class Value>
inline NORMGRAD_ALWAYS void elementwise(std::int64_t n, T* to, Stores stores, Value&& value) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  std::int64_t done = 0;
  if (stores == Stores::kStreamed && address % sizeof(T) == 0) {
    const auto head = static_cast<std::int64_t>((64 - address % 64) % 64 / sizeof(T));
    done = std::min(head, n);
    for_vectors<A>(done, [&](std::int64_t i, auto step)
                             NORMGRAD_INLINE { store(value(i, step), to + i, step); });
    for (; done + kWidth<A> <= n; done += kWidth<A>) stream(value(done, Whole()), to + done);
  }
  for_vectors<A>(n - done, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
    store(value(done + i, step), to + done + i, step);
  });
}

// Copies past the cache.
template <typename T>
inline void stream_copy(std::int64_t n, const T* from, T* to) {
  // Whole cache lines of 4-byte words; elements at the ends that do not fill one go the ordinary
  // way.
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  const auto head = static_cast<std::int64_t>((64 - address % 64) % 64 / sizeof(T));
  constexpr std::int64_t kStep =
      kWidth<float> * static_cast<std::int64_t>(sizeof(float) / sizeof(T));
  std::int64_t i = address % sizeof(T) == 0 ? std::min(head, n) : n;
  std::copy_n(reinterpret_cast<const char*>(from), static_cast<std::size_t>(i) * sizeof(T),
              reinterpret_cast<char*>(to));
  for (; i + kStep <= n; i += kStep) {
    stream(load<float>(reinterpret_cast<const float*>(from + i)), reinterpret_cast<float*>(to + i));
  }
  std::copy_n(reinterpret_cast<const char*>(from + i), static_cast<std::size_t>(n - i) * sizeof(T),
              reinterpret_cast<char*>(to + i));
}

// Before another thread may look at what was streamed.
inline void end_stores(Stores stores) {
  if (stores == Stores::kStreamed) stream_fence();
}

NORMGRAD_TARGET_END
#endif
