// Where there is no Highway, every kernel is the plain one. Said here and not in the kernels' files, so that their plain
// objects are the same with and without Highway, and ccache has those of one build for the other.
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_backward/batch_norm_backward.h"
#include "ops/batch_norm_elemt_backward/batch_norm_elemt_backward.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/layer_norm_backward/layer_norm_backward.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/rms_norm_backward/rms_norm_backward.h"

namespace normgrad {
namespace plain {

Kernel layer_norm, rms_norm, layer_norm_backward, rms_norm_backward, batch_norm,
    batch_norm_backward, batch_norm_elemt_backward;

}  // namespace plain

Kernel* choose_layer_norm(Isa) { return &plain::layer_norm; }
Kernel* choose_rms_norm(Isa) { return &plain::rms_norm; }
Kernel* choose_layer_norm_backward(Isa) { return &plain::layer_norm_backward; }
Kernel* choose_rms_norm_backward(Isa) { return &plain::rms_norm_backward; }
Kernel* choose_batch_norm(Isa) { return &plain::batch_norm; }
Kernel* choose_batch_norm_backward(Isa) { return &plain::batch_norm_backward; }
Kernel* choose_batch_norm_elemt_backward(Isa) { return &plain::batch_norm_elemt_backward; }

}  // namespace normgrad
