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

void add_portable(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(std::uint32_t) <= bytes; i += sizeof(std::uint32_t)) {
    const std::uint32_t sum = load(a + i) + load(b + i);
    std::memcpy(out + i, &sum, sizeof(sum));
  }
  for (; i < bytes; ++i) out[i] = a[i] ^ b[i];
}

#if defined(__x86_64__)

template <Stores stores>
__attribute__((target("avx2"))) void add_avx2(const std::byte* a, const std::byte* b,
                                              std::byte* out, std::size_t bytes) {
  constexpr std::size_t kVectors = 4;
  constexpr std::size_t kStep = kVectors * sizeof(__m256i);
  std::size_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    for (std::size_t v = 0; v < kStep; v += sizeof(__m256i)) {
      const __m256i sum =
          _mm256_add_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(a + i + v)),
                           _mm256_load_si256(reinterpret_cast<const __m256i*>(b + i + v)));
      auto* to = reinterpret_cast<__m256i*>(out + i + v);
      if constexpr (stores == Stores::kPlain) {
        _mm256_store_si256(to, sum);
      } else {
        _mm256_stream_si256(to, sum);
      }
    }
  }
  if constexpr (stores == Stores::kNonTemporal) _mm_sfence();
  add_portable(a + i, b + i, out + i, bytes - i);
}

#endif

void add(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes, Stores stores) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return stores == Stores::kPlain ? add_avx2<Stores::kPlain>(a, b, out, bytes)
                                    : add_avx2<Stores::kNonTemporal>(a, b, out, bytes);
  }
#endif
  static_cast<void>(stores);
  add_portable(a, b, out, bytes);
}

std::uint32_t read(const std::byte* p, std::size_t bytes) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i + sizeof(all) <= bytes; i += sizeof(all)) all |= load(p + i);
  return all;
}

// What was read must go somewhere, or the compiler leaves the reading out.
std::atomic<std::uint32_t> sink;

Bytes part(Bytes whole, std::size_t index, std::size_t parts) {
  const std::size_t lines = (whole.size + kLine - 1) / kLine;
  const std::size_t begin = std::min(whole.size, lines * index / parts * kLine);
  const std::size_t end = std::min(whole.size, lines * (index + 1) / parts * kLine);
  return {whole.data + begin, end - begin};
}

void move_part(const Traffic& traffic, Stores stores, std::size_t index, std::size_t parts) {
  const Bytes out = part(traffic.out, index, parts);
  add(part(traffic.in[0], index, parts).data, part(traffic.in[1], index, parts).data, out.data,
      out.size, stores);
  std::uint32_t all = 0;
  for (const Bytes& in : traffic.small_in) {
    const Bytes mine = part(in, index, parts);
    all |= read(mine.data, mine.size);
  }
  sink.store(all, std::memory_order_relaxed);
  for (const Bytes& small_out : traffic.small_out) {
    const Bytes mine = part(small_out, index, parts);
    std::memset(mine.data, 0, mine.size);
  }
}

}  // namespace

std::size_t Traffic::bytes() const {
  std::size_t sum = in[0].size + in[1].size + out.size;
  for (const Bytes& small : small_in) sum += small.size;
  for (const Bytes& small : small_out) sum += small.size;
  return sum;
}

void move_bytes(const Traffic& traffic, Stores stores, int threads) {
  if (threads == 1) return move_part(traffic, stores, 0, 1);
#pragma omp parallel num_threads(threads)
  move_part(traffic, stores, static_cast<std::size_t>(omp_get_thread_num()),
            static_cast<std::size_t>(omp_get_num_threads()));
}

}  // namespace bench
