// Compiles a kernel file once per instruction set. A kernel file `F` reads
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "F"
//   #include "kernels/target-inl.h"
//   #include "...-inl.h"             // what it stands on, likewise compiled per instruction set
//   NORMGRAD_TARGET_BEGIN            // namespace normgrad::<instruction set>
//   void kernel(...) {...}
//   NORMGRAD_TARGET_END
//   NORMGRAD_CHOOSER(kernel)         // KernelFunction* choose_kernel(Isa); it also has a line in ops/plain_kernels.cc
//
// and is built twice: with NORMGRAD_PLAIN for the plain C++ path, and, if there is Highway,
// without. No include guard: this file is read again for every instruction set.
#include "normgrad/settings.h"

#undef NORMGRAD_ALWAYS
#if NORMGRAD_CALLS  // functions stay functions: src/CMakeLists.txt says where and why
#define NORMGRAD_ALWAYS
#else
#define NORMGRAD_ALWAYS __attribute__((always_inline))
#endif

#if NORMGRAD_PLAIN

#define NORMGRAD_ATTR
#define NORMGRAD_INLINE NORMGRAD_ALWAYS
#define NORMGRAD_TARGET_BEGIN namespace normgrad::plain {
#define NORMGRAD_TARGET_END }
// Said elsewhere: with Highway in its build, without in ops/plain_kernels.cc.
#define NORMGRAD_CHOOSER(kernel)

#else

// On x86 Highway starts with SSE4: what every processor has, the plain path uses as well. Functions outside of
// NORMGRAD_TARGET_BEGIN and _END are compiled for every processor all the same.
#ifndef HWY_WANT_SSE4
#define HWY_WANT_SSE4 1
#endif
// Off: SSSE3, which no processor without SSE4 is worth; the newer AVX-512, which has nothing for us; SVE, whose vectors
// have no size that the compiler knows. NEON is arm64's baseline.
#define NORMGRAD_SVE (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | NORMGRAD_SVE)
#endif
// On arm64 NEON alone is left, which the compiler may use anyway. So Highway need not dispatch, nor say so by a pragma,
// which g++ forgets in the constructors that it writes itself: it then refuses to inline the vectors' own.
#if defined(__aarch64__) && !defined(TOOLCHAIN_MISS_SYS_AUXV_H)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#undef NORMGRAD_ATTR
#undef NORMGRAD_INLINE
#undef NORMGRAD_TARGET_BEGIN
#undef NORMGRAD_TARGET_END
#undef NORMGRAD_CHOOSER
// Attributes: of a lambda with vector code; of a small lambda. NORMGRAD_ALWAYS: of a small function, which must not be a
// call.
#define NORMGRAD_ATTR HWY_ATTR
#define NORMGRAD_INLINE HWY_ATTR NORMGRAD_ALWAYS
#define NORMGRAD_TARGET_BEGIN \
  HWY_BEFORE_NAMESPACE();     \
  namespace normgrad::HWY_NAMESPACE {
#define NORMGRAD_TARGET_END \
  }                         \
  HWY_AFTER_NAMESPACE();

#if HWY_ONCE
// Each, or the next lower one that is built: a build for a newer processor alone has none below that, one with sanitizers
// has few.
#if HWY_ARCH_X86
#define NORMGRAD_BASELINE(kernel) plain::kernel
#else
#define NORMGRAD_BASELINE(kernel) HWY_NAMESPACE::kernel
#endif
#if HWY_TARGETS & HWY_SSE4
#define NORMGRAD_SSE4(kernel) N_SSE4::kernel
#else
#define NORMGRAD_SSE4(kernel) NORMGRAD_BASELINE(kernel)
#endif
#if HWY_TARGETS & HWY_AVX2
#define NORMGRAD_AVX2(kernel) N_AVX2::kernel
#else
#define NORMGRAD_AVX2(kernel) NORMGRAD_SSE4(kernel)
#endif
#if HWY_TARGETS & HWY_AVX3
#define NORMGRAD_AVX512(kernel) N_AVX3::kernel
#else
#define NORMGRAD_AVX512(kernel) NORMGRAD_AVX2(kernel)
#endif
#define NORMGRAD_CHOOSER(kernel)                              \
  namespace normgrad {                                        \
  namespace plain {                                           \
  decltype(HWY_NAMESPACE::kernel) kernel;                     \
  }                                                           \
  decltype(&HWY_NAMESPACE::kernel) choose_##kernel(Isa isa) { \
    switch (isa) {                                            \
      case Isa::kPlain:                                       \
        break;                                                \
      case Isa::kBaseline:                                    \
        return &NORMGRAD_BASELINE(kernel);                    \
      case Isa::kSse4:                                        \
        return &NORMGRAD_SSE4(kernel);                        \
      case Isa::kAvx2:                                        \
        return &NORMGRAD_AVX2(kernel);                        \
      case Isa::kAvx512:                                      \
        return &NORMGRAD_AVX512(kernel);                      \
    }                                                         \
    return &plain::kernel;                                    \
  }                                                           \
  }
#else
#define NORMGRAD_CHOOSER(kernel)
#endif

#endif
