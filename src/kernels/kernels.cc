#include <cstring>

#include "kernels/sets.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace normgrad::kernels {
namespace {

const KernelSets& fast_sets() {
  switch (isa()) {
#if defined(__x86_64__)
    case Isa::kAvx512:
#if !NORMGRAD_AVX2_FOR_AVX512
      return avx512::kFast;
#endif
    case Isa::kAvx2:
      return avx2::kFast;
    case Isa::kSse4:
    case Isa::kBaseline:
#else
    case Isa::kAvx512:
    case Isa::kAvx2:
    case Isa::kSse4:
    case Isa::kBaseline:
      return neon::kFast;
#endif
    case Isa::kPlain:
      break;
  }
  return plain::kFast;
}

}  // namespace

const Kernels& kernels_for(DataType dtype, Arithmetic arithmetic) {
  const KernelSets& sets = arithmetic == Arithmetic::kExact ? exact::kExact : fast_sets();
  if (dtype == DataType::kF16) return sets.f16;
  return dtype == DataType::kBF16 ? sets.bf16 : sets.f32;
}

void stream(const void* from, void* to, std::size_t bytes) {
#if defined(__x86_64__)
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  const std::size_t misaligned = (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16;
  const std::size_t head = misaligned < bytes ? misaligned : bytes;
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + 16 <= bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
  }
  std::memcpy(out + i, in + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace normgrad::kernels
