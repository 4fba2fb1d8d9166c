// Where there is no Highway, every kernel is the plain one. Said here and not in the kernels' files, so that their plain
// objects are the same with and without Highway, and ccache has those of one build for the other.
#include "ops/forward.h"

namespace normgrad {
namespace plain {

Kernel layer_norm, rms_norm, batch_norm;

}  // namespace plain

Kernel* choose_layer_norm(Isa) { return &plain::layer_norm; }
Kernel* choose_rms_norm(Isa) { return &plain::rms_norm; }
Kernel* choose_batch_norm(Isa) { return &plain::batch_norm; }

}  // namespace normgrad
