// RmsNormBackward: which argument is which.
#ifndef NORMGRAD_OPS_RMS_NORM_BACKWARD_RMS_NORM_BACKWARD_H
#define NORMGRAD_OPS_RMS_NORM_BACKWARD_RMS_NORM_BACKWARD_H

#include "ops/row_norm/row_norm.h"

namespace normgrad {

// Arguments: dx dw dy w x rstd.
inline constexpr RowRoles kRmsRoles{0, 1, kAbsent, 2, 3, 4, kAbsent, 5, false};

}  // namespace normgrad

#endif
