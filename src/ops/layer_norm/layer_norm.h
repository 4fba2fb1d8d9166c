// LayerNorm: which argument is which, and its kernel.
#ifndef NORMGRAD_OPS_LAYER_NORM_LAYER_NORM_H
#define NORMGRAD_OPS_LAYER_NORM_LAYER_NORM_H

#include "normgrad/settings.h"
#include "ops/kernel.h"
#include "ops/row_norm/row_norm.h"

namespace normgrad {

// Arguments: y mean rstd x w b.
inline constexpr RowForwardRoles kLayerNormRoles{0, 1, 2, 3, 4, 5};

Kernel* choose_layer_norm(Isa isa);

}  // namespace normgrad

#endif
