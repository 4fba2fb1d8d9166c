// RmsNormBackward on the CPU: the row loops with RMSNorm's formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rms_norm_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/rms_norm_backward/rms_norm_backward.h"
#include "ops/row_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN

void rms_norm_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  if (plan.argument[kRmsRoles.rstd].tensor.present()) {
    run_row_norm<RmsNormOfRstd>(plan, kRmsRoles, data, workspace);
  } else {
    run_row_norm<RmsNorm>(plan, kRmsRoles, data, workspace);
  }
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(rms_norm_backward)
