// Forward passes of norms whose statistics belong to a channel: computed (training) or given, and y.
#ifndef NORMGRAD_OPS_CHANNEL_FORWARD_H
#define NORMGRAD_OPS_CHANNEL_FORWARD_H

#include "ops/plan.h"

namespace normgrad {

// plan.channel is there.
Status plan_channel_forward(PlanBody& plan);
void run_channel_forward(const PlanBody& plan, void* const* data, std::byte* workspace);

}  // namespace normgrad

#endif
