// RmsNorm: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_RMS_NORM_RMS_NORM_H
#define NORMGRAD_OPS_RMS_NORM_RMS_NORM_H

#include "normgrad/settings.h"
#include "ops/kernel.h"
#include "ops/row_norm/row_norm.h"

namespace normgrad {

// Arguments: y rstd x w.
inline constexpr RowForwardRoles kRmsNormRoles{0, kAbsent, 1, 2, 3, kAbsent};

Kernel* choose_rms_norm(Isa isa);

}  // namespace normgrad

#endif
