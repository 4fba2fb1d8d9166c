// The sets of kernels that a build holds.
#ifndef NORMGRAD_KERNELS_SETS_H
#define NORMGRAD_KERNELS_SETS_H

#include "kernels/kernels.h"

namespace normgrad {
namespace kernels {
struct KernelSets {
  Kernels f16, bf16, f32;
};
struct ExactKernelSets : KernelSets {
  Kernels f64;
};
}  // namespace kernels
namespace exact {
extern const kernels::ExactKernelSets kExact;
}
namespace plain {
extern const kernels::KernelSets kFast;
}
namespace avx2 {
extern const kernels::KernelSets kFast;
}
namespace avx512 {
extern const kernels::KernelSets kFast;
}
namespace neon {
extern const kernels::KernelSets kFast;
}
}  // namespace normgrad

#endif
