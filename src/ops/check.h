// The checks of a problem: the only ones of presence, data types, shapes, strides and overlap.
#ifndef NORMGRAD_OPS_CHECK_H
#define NORMGRAD_OPS_CHECK_H

#include "ops/operators.h"

namespace normgrad {

// Enters the problem's tensors into the body and holds them to the operator's rules, in the order presence, data types, shapes,
// strides, so that the code which a caller sees is the documented one.
Status check(const Operator& op, const Problem& problem, PlanBody& body);

// One number for every channel of `data`. For front ends, of what has no part in the computation.
NORMGRAD_API Status check_channels(const Tensor& tensor, const Tensor& data, int channel_axis);

}  // namespace normgrad

#endif
