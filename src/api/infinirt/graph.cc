// Graphs: a CPU has none.
#include "api/infinirt/entry.h"

namespace normgrad::api {
namespace {

infiniStatus_t no_graphs(const char* name) {
  return entry(name, [] {
    return fail(Status::kDeviceUnsupported, "INFINI_DEVICE_CPU (0) has no graphs and no capture");
  });
}

}  // namespace
}  // namespace normgrad::api

using normgrad::api::no_graphs;

infiniStatus_t infinirtStreamBeginCapture(infinirtStream_t, infinirtStreamCaptureMode_t) {
  return no_graphs(__func__);
}

infiniStatus_t infinirtStreamEndCapture(infinirtStream_t, infinirtGraph_t*) {
  return no_graphs(__func__);
}

infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t*, infinirtGraph_t, infinirtGraphNode_t*,
                                        char*, size_t) {
  return no_graphs(__func__);
}

infiniStatus_t infinirtGraphDestroy(infinirtGraph_t) { return no_graphs(__func__); }

infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t) { return no_graphs(__func__); }

infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t, infinirtStream_t) {
  return no_graphs(__func__);
}
