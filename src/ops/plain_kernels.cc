// Without Highway every kernel of the forward passes is the plain one. A file of its own says so, because the plain objects
// are then the same in both builds, and ccache has those of one for the other.
#include "ops/forward.h"

namespace normgrad {
namespace plain {

Kernel batch_norm;

}  // namespace plain

Kernel* choose_batch_norm(Isa) { return &plain::batch_norm; }

}  // namespace normgrad
