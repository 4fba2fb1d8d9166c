// LayerNorm on the CPU: the forward row loops with LayerNorm's formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layer_norm/cpu.cc"
#include "kernels/target-inl.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/row_norm/forward-inl.h"

NORMGRAD_TARGET_BEGIN

void layer_norm(const Plan& plan, void* const* data, std::byte* workspace) {
  run_row_forward<LayerNormY>(plan, kLayerNormRoles, data, workspace);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(layer_norm)
