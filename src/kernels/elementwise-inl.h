// Writing an output element by element: through the cache, or past it when everything together
// exceeds it.
#if defined(NORMGRAD_KERNELS_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_KERNELS_ELEMENTWISE_INL_H
#undef NORMGRAD_KERNELS_ELEMENTWISE_INL_H
#else
#define NORMGRAD_KERNELS_ELEMENTWISE_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/cache.h"
#include "kernels/steps-inl.h"

NORMGRAD_TARGET_BEGIN

enum class Stores { kCached, kStreamed };

// `bytes`: of all inputs and outputs. With 32 MiB of cache, LayerNorm f16 8192x768 (37.7 MB) took 0.35 ns an element
// cached and 0.29 streamed, f32 (75 MB) 0.57 and 0.54 (2 threads, Zen 4; means of 6 interleaved rounds).
inline Stores stores_for(std::int64_t bytes) {
  const bool beyond = bytes > kernels::last_level_cache_bytes();
  return kStreams && beyond ? Stores::kStreamed : Stores::kCached;
}

// to[i] = value(i, step) for i in [0, n), rounded once; bf16 in pairs that alternate.
// kStores == kStreamed: `to` is aligned to 32 bytes. fetch(i) is called about once per cache line of the
// output, to bring in what is needed later.
template <Stores kStores, typename A, typename T, class Value, class Fetch = NoFetch>
inline NORMGRAD_ALWAYS void elementwise_by(std::int64_t n, T* to, Value&& value,
                                           Fetch&& fetch = {}) {
  constexpr bool kAlternating = kAlternates<T, A>;
  const auto pair = [&](std::int64_t i) NORMGRAD_INLINE {
    const Vec<A> first = value(i, step_of<kAlternating, 0>(Whole()));
    const Vec<A> second = value(i + kOffset<kAlternating, 1, A>, step_of<kAlternating, 1>(Whole()));
    if constexpr (kAlternating) {
      store_alternate<kStores == Stores::kStreamed>(first, second, to + i);
    } else if constexpr (kStores == Stores::kStreamed) {
      stream(first, to + i);
      stream(second, to + i + kWidth<A>);
    } else {
      store2(first, second, to + i);
    }
  };
  std::int64_t i = 0;
  for (; i + 4 * kWidth<A> <= n; i += 4 * kWidth<A>) {
    fetch(i);
    pair(i);
    pair(i + 2 * kWidth<A>);
  }
  if constexpr (kAlternating) {
    if (i + 2 * kWidth<A> <= n) {
      pair(i);
      i += 2 * kWidth<A>;
    }
    if (i == n) return;
    const Part rest{n - i};
    store_alternate(value(i, step_of<kAlternating, 0>(rest)),
                    value(i, step_of<kAlternating, 1>(rest)), to + i, rest);
  } else {
    for_vectors<A>(n - i, [&](std::int64_t at, auto step)
                              NORMGRAD_INLINE { store(value(i + at, step), to + i + at, step); });
  }
}

// The same to any address. Streamed: what stands before the first whole line is stored the ordinary way.
template <typename A, typename T, class Value>
inline NORMGRAD_ALWAYS void elementwise(std::int64_t n, T* to, Stores stores, Value&& value) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (!kStreams || stores == Stores::kCached || address % sizeof(T) != 0) {
    return elementwise_by<Stores::kCached, A>(n, to, value);
  }
  if constexpr (kStreams) {
    const std::int64_t head =
        std::min(n, static_cast<std::int64_t>((64 - address % 64) % 64 / sizeof(T)));
    elementwise_by<Stores::kCached, A>(head, to, value);
    elementwise_by<Stores::kStreamed, A>(n - head, to + head,
                                         [&](std::int64_t i, auto step)
                                             NORMGRAD_INLINE { return value(head + i, step); });
  }
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
  const auto copy = [&](std::int64_t begin, std::int64_t end) {  // most often nothing: no call then
    if (begin == end) return;
    std::memcpy(static_cast<void*>(to + begin), static_cast<const void*>(from + begin),
                static_cast<std::size_t>(end - begin) * sizeof(T));
  };
  copy(0, i);
  for (; i + kStep <= n; i += kStep) {
    stream(load<float>(reinterpret_cast<const float*>(from + i)), reinterpret_cast<float*>(to + i));
  }
  copy(i, n);
}

// Before another thread may look at what was streamed.
inline void end_stores(Stores stores) {
  if (stores == Stores::kStreamed) stream_fence();
}

NORMGRAD_TARGET_END
#endif
