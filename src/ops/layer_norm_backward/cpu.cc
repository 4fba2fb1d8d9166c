// LayerNormBackward on the CPU: the row loops with LayerNorm's formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layer_norm_backward/cpu.cc"
#include "cpu/target-inl.h"
#include "ops/layer_norm_backward/layer_norm_backward.h"
#include "ops/row_norm/loops-inl.h"

NORMGRAD_TARGET_BEGIN

void layer_norm_backward(const Plan& plan, void* const* data, std::byte* workspace) {
  if (is_given_x_hat(plan)) {
    run_row_norm<LayerNormOfXHat>(plan, kRolesOfXHat, data, workspace);
  } else {
    run_row_norm<LayerNormOfX>(plan, kRolesOfX, data, workspace);
  }
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(layer_norm_backward)
