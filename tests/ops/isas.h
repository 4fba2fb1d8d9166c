// The instruction sets that tests of the kernels go through.
#ifndef TESTS_OPS_ISAS_H
#define TESTS_OPS_ISAS_H

#include "normgrad/settings.h"

namespace ops_test {

inline constexpr normgrad::Isa kIsas[] = {normgrad::Isa::kPlain, normgrad::Isa::kBaseline,
                                          normgrad::Isa::kSse4, normgrad::Isa::kAvx2,
                                          normgrad::Isa::kAvx512};

// Whether it runs other kernels than those before it. On x86 baseline runs the plain ones; where the library is built for
// AVX2 alone (src/CMakeLists.txt) so does SSE4, and AVX-512 runs AVX2's.
inline constexpr bool has_own_kernels([[maybe_unused]] normgrad::Isa isa) {
#if defined(__x86_64__)
  if (isa == normgrad::Isa::kBaseline) return false;
#endif
#if NORMGRAD_AVX2_ALONE
  if (isa == normgrad::Isa::kSse4 || isa == normgrad::Isa::kAvx512) return false;
#endif
  return true;
}

}  // namespace ops_test

#endif
