// The instruction sets that tests of the kernels go through.
#ifndef TESTS_OPS_ISAS_H
#define TESTS_OPS_ISAS_H

#include "normgrad/settings.h"

namespace ops_test {

#if defined(__x86_64__)
inline constexpr normgrad::Isa kIsas[] = {normgrad::Isa::kPlain, normgrad::Isa::kAvx2,
                                          normgrad::Isa::kAvx512};
#else
inline constexpr normgrad::Isa kIsas[] = {normgrad::Isa::kPlain, normgrad::Isa::kBaseline};
#endif

// Where the library is built for AVX2 alone (src/CMakeLists.txt), AVX-512 runs the kernels of AVX2.
inline constexpr bool has_own_kernels([[maybe_unused]] normgrad::Isa isa) {
#if NORMGRAD_AVX2_ALONE
  return isa != normgrad::Isa::kAvx512;
#else
  return true;
#endif
}

}  // namespace ops_test

#endif
