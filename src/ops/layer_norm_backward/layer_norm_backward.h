// LayerNormBackward: which argument is which.
#ifndef NORMGRAD_OPS_LAYER_NORM_BACKWARD_LAYER_NORM_BACKWARD_H
#define NORMGRAD_OPS_LAYER_NORM_BACKWARD_LAYER_NORM_BACKWARD_H

#include "ops/row_norm/row_norm.h"

namespace normgrad {

// Arguments: dx dw db dy w x_hat sigma x mean rstd.
inline constexpr RowRoles kRolesOfXHat{0, 1, 2, 3, 4, 5, kAbsent, 6, true};
inline constexpr RowRoles kRolesOfX{0, 1, 2, 3, 4, 7, 8, 9, false};

inline bool is_given_x_hat(const Plan& plan) {
  return plan.argument[kRolesOfXHat.x].tensor.present();
}

}  // namespace normgrad

#endif
