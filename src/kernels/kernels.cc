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
  if (dtype == DataType::kF64) return exact::kExact.f64;
  const KernelSets& sets = arithmetic == Arithmetic::kExact ? exact::kExact : fast_sets();
  if (dtype == DataType::kF16) return sets.f16;
  return dtype == DataType::kBF16 ? sets.bf16 : sets.f32;
}

void stream(const void* from, void* to, std::size_t bytes) {
  fast_sets().f32.stream(from, to, bytes);
}

void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace normgrad::kernels
