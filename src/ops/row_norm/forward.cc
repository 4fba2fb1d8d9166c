// LayerNorm and RMSNorm forward: the row loops with their formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/row_norm/forward.cc"
#include "kernels/target-inl.h"
#include "ops/forward.h"
#include "ops/row_norm/forward-inl.h"

NORMGRAD_TARGET_BEGIN

void layer_norm(const PlanBody& plan, void* const* data, std::byte* workspace) {
  run_row_forward<LayerNormY>(plan, kLayerNormRoles, data, workspace);
}

void rms_norm(const PlanBody& plan, void* const* data, std::byte* workspace) {
  run_row_forward<RmsNormY>(plan, kRmsNormRoles, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(layer_norm)
NORMGRAD_CHOOSER(rms_norm)
