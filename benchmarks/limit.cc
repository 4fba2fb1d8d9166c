#include "limit.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

constexpr std::size_t kLine = 64;

std::uint32_t load(const std::byte* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

// b null: out = a.
void add_portable(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(std::uint32_t) <= bytes; i += sizeof(std::uint32_t)) {
    const std::uint32_t sum = load(a + i) + (b != nullptr ? load(b + i) : 0);
    std::memcpy(out + i, &sum, sizeof(sum));
  }
  for (; i < bytes; ++i) out[i] = b != nullptr ? a[i] ^ b[i] : a[i];
}

std::uint32_t read_portable(const std::byte* p, std::size_t bytes) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i + sizeof(all) <= bytes; i += sizeof(all)) all |= load(p + i);
  return all;
}

#if defined(__x86_64__)

constexpr std::size_t kVectors = 4;
constexpr std::size_t kStep = kVectors * sizeof(__m256i);

__attribute__((target("avx2"))) inline __m256i vector(const std::byte* p) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}

template <Stores stores, bool two>
__attribute__((target("avx2"))) void add_avx2(const std::byte* a, const std::byte* b,
                                              std::byte* out, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    for (std::size_t v = i; v < i + kStep; v += sizeof(__m256i)) {
      __m256i sum = vector(a + v);
      if constexpr (two) sum = _mm256_add_epi32(sum, vector(b + v));
      auto* to = reinterpret_cast<__m256i*>(out + v);
      if constexpr (stores == Stores::kPlain) {
        _mm256_store_si256(to, sum);
      } else {
        _mm256_stream_si256(to, sum);
      }
    }
  }
  if constexpr (stores == Stores::kNonTemporal) _mm_sfence();
  add_portable(a + i, two ? b + i : nullptr, out + i, bytes - i);
}

// Both in step, as an operator reads them.
template <bool two>
__attribute__((target("avx2"))) std::uint32_t read_avx2(const std::byte* a, const std::byte* b,
                                                        std::size_t bytes) {
  __m256i all[kVectors] = {};
  std::size_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i + v * sizeof(__m256i);
      all[v] = _mm256_or_si256(all[v], vector(a + at));
      if constexpr (two) all[v] = _mm256_or_si256(all[v], vector(b + at));
    }
  }
  for (std::size_t v = 1; v < kVectors; ++v) all[0] = _mm256_or_si256(all[0], all[v]);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(all[0])) |
         read_portable(a + i, bytes - i) | (two ? read_portable(b + i, bytes - i) : 0);
}

template <Stores stores>
void add_avx2(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes) {
  if (b != nullptr) return add_avx2<stores, true>(a, b, out, bytes);
  add_avx2<stores, false>(a, b, out, bytes);
}

#endif

void add(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes, Stores stores) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return stores == Stores::kNonTemporal ? add_avx2<Stores::kNonTemporal>(a, b, out, bytes)
                                          : add_avx2<Stores::kPlain>(a, b, out, bytes);
  }
#endif
  static_cast<void>(stores);
  add_portable(a, b, out, bytes);
}

// What was read must go somewhere, or the compiler leaves the reading out.
std::atomic<std::uint32_t> sink;

Bytes part(Bytes whole, std::size_t index, std::size_t parts) {
  const std::size_t lines = (whole.size + kLine - 1) / kLine;
  const std::size_t begin = std::min(whole.size, lines * index / parts * kLine);
  const std::size_t end = std::min(whole.size, lines * (index + 1) / parts * kLine);
  return {whole.data + begin, end - begin};
}

void read_part(const Traffic& traffic, std::size_t index, std::size_t parts) {
  const Bytes a = part(traffic.in[0], index, parts), b = part(traffic.in[1], index, parts);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && (b.size == 0 || b.size == a.size)) {
    sink.store(b.size > 0 ? read_avx2<true>(a.data, b.data, a.size)
                          : read_avx2<false>(a.data, nullptr, a.size),
               std::memory_order_relaxed);
    return;
  }
#endif
  sink.store(read_portable(a.data, a.size) | read_portable(b.data, b.size),
             std::memory_order_relaxed);
}

void move_part(const Traffic& traffic, Stores stores, std::size_t index, std::size_t parts) {
  const Bytes out = part(traffic.out, index, parts);
  if (traffic.out.size > 0) {
    add(part(traffic.in[0], index, parts).data, part(traffic.in[1], index, parts).data, out.data,
        out.size, stores);
  } else {
    read_part(traffic, index, parts);
  }
  std::uint32_t all = 0;
  for (const Bytes& in : traffic.small_in) {
    const Bytes mine = part(in, index, parts);
    all |= read_portable(mine.data, mine.size);
  }
  sink.store(all, std::memory_order_relaxed);
  for (const Bytes& small_out : traffic.small_out) {
    const Bytes mine = part(small_out, index, parts);
    std::memset(mine.data, 0, mine.size);
  }
}

// body(t, n) on every thread t of n.
template <class Body>
void on_threads(int threads, const Body& body) {
  if (threads == 1) return body(0, 1);
#pragma omp parallel num_threads(threads)
  body(static_cast<std::size_t>(omp_get_thread_num()),
       static_cast<std::size_t>(omp_get_num_threads()));
}

}  // namespace

std::size_t Traffic::bytes() const {
  std::size_t sum = in[0].size + in[1].size + out.size;
  for (const Bytes& small : small_in) sum += small.size;
  for (const Bytes& small : small_out) sum += small.size;
  return sum;
}

const char* name(Stores stores) {
  return stores == Stores::kPlain         ? "plain"
         : stores == Stores::kNonTemporal ? "non-temporal"
                                          : "none";
}

void move_bytes(const Traffic& traffic, Stores stores, int threads) {
  on_threads(threads, [&](std::size_t index, std::size_t parts) {
    move_part(traffic, stores, index, parts);
  });
}

void read_inputs(const Traffic& traffic, int threads) {
  on_threads(threads,
             [&](std::size_t index, std::size_t parts) { read_part(traffic, index, parts); });
}

}  // namespace bench
