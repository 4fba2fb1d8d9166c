// Without Highway every kernel of the forward passes is the plain one. A file of its own says so, because the plain objects
// are then the same in both builds, and ccache has those of one for the other.
#include "ops/forward.h"

namespace normgrad {
namespace plain {

Kernel layer_norm, rms_norm, batch_norm;

}  // namespace plain

Kernel* choose_layer_norm(Isa) { return &plain::layer_norm; }
Kernel* choose_rms_norm(Isa) { return &plain::rms_norm; }
Kernel* choose_batch_norm(Isa) { return &plain::batch_norm; }

}  // namespace normgrad
