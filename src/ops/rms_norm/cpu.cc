// RmsNorm on the CPU: the forward row loops with RMSNorm's formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rms_norm/cpu.cc"
#include "kernels/target-inl.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/row_norm/forward-inl.h"

NORMGRAD_TARGET_BEGIN

void rms_norm(const Plan& plan, void* const* data, std::byte* workspace) {
  run_row_forward<RmsNormY>(plan, kRmsNormRoles, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(rms_norm)
