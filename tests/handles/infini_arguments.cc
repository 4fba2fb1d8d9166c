// Handles that libinfinirt.so and libinfiniop.so are given.
#include "api/operators.h"
#include "handles/arguments.h"

namespace handles {
namespace {

constexpr int kBad = INFINI_STATUS_BAD_PARAM, kNull = INFINI_STATUS_NULL_POINTER;
const std::set<Kind> kOperators = {Kind::kRmsNorm, Kind::kLayerNorm, Kind::kBatchNorm};

// Which live handles are descriptors of this operator.
std::set<Kind> kinds_of(const api_test::Operator& op) {
  if (&op == &api_test::rms_norm()) return {Kind::kRmsNorm};
  if (&op == &api_test::layer_norm()) return {Kind::kLayerNorm};
  if (&op == &api_test::batch_norm()) return {Kind::kBatchNorm};
  return {};
}

// Refused or not, nothing is left.
int create(const api_test::Operator& op, infiniopHandle_t handle,
           const infiniopTensorDescriptor_t* tensors) {
  InfiniopDescriptor* made = nullptr;
  const int code = op.create(handle, &made, tensors);
  op.destroy(made);
  return code;
}

void add_operator(const api_test::Operator& op, std::vector<Argument>* all) {
  const auto call = [&op](Zoo& z, const std::function<int(infiniopTensorDescriptor_t*)>& body) {
    auto& tensors = z.kept<api_test::TensorDescriptors>(&op, [&] {
      return std::make_shared<api_test::TensorDescriptors>(api_test::specs_for(op, {2, 3, 4}));
    });
    std::vector<infiniopTensorDescriptor_t> copy(tensors.data(),
                                                 tensors.data() + op.arguments.size());
    return body(copy.data());
  };
  all->push_back(
      {op.create_name(), "handle", {Kind::kInfiniHandle}, kBad, kBad, [&op, call](Zoo& z, void* h) {
         return call(z, [&](auto t) { return create(op, as<InfiniopHandle>(h), t); });
       }});
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    const std::optional<int> null =
        op.arguments[i].optional ? std::nullopt : std::optional<int>(kBad);
    all->push_back({op.create_name(),
                    op.arguments[i].name,
                    {Kind::kInfiniTensor},
                    kBad,
                    null,
                    [&op, call, i](Zoo& z, void* h) {
                      return call(z, [&](auto t) {
                        t[i] = as<InfiniopTensorDescriptor>(h);
                        return create(op, z.world.handle, t);
                      });
                    }});
  }
  const std::set<Kind> kind = kinds_of(op);
  all->push_back({op.workspace_size_name(), "desc", kind, kBad, kBad, [&op](Zoo&, void* h) {
                    std::size_t size = 0;
                    return op.workspace_size(as<InfiniopDescriptor>(h), &size);
                  }});
  all->push_back({op.compute_name(), "desc", kind, kBad, kBad, [&op](Zoo& z, void* h) {
                    void* data[8];
                    for (int i = 0; i < 8; ++i) data[i] = z.world.values[i];
                    return op.compute(as<InfiniopDescriptor>(h), z.world.workspace,
                                      sizeof(z.world.workspace), data);
                  }});
  all->push_back({op.destroy_name(), "desc", kind, kBad, 0,
                  [&op](Zoo&, void* h) { return op.destroy(as<InfiniopDescriptor>(h)); }});
}

std::vector<Argument> of_infiniop() {
  return {
      {"infiniopDestroyHandle",
       "handle",
       {Kind::kInfiniHandle},
       kBad,
       0,
       [](Zoo&, void* h) { return infiniopDestroyHandle(as<InfiniopHandle>(h)); }},
      {"infiniopDestroyTensorDescriptor",
       "desc",
       {Kind::kInfiniTensor},
       kBad,
       0,
       [](Zoo&, void* h) {
         return infiniopDestroyTensorDescriptor(as<InfiniopTensorDescriptor>(h));
       }},
      {"infiniopGetDescriptorDeviceType", "desc_ptr", kOperators, kBad, kBad,
       [](Zoo&, void* h) {
         infiniDevice_t type;
         return infiniopGetDescriptorDeviceType(as<InfiniopDescriptor>(h), &type);
       }},
      {"infiniopGetDescriptorDeviceId", "desc_ptr", kOperators, kBad, kBad,
       [](Zoo&, void* h) {
         int id = 0;
         return infiniopGetDescriptorDeviceId(as<InfiniopDescriptor>(h), &id);
       }},
  };
}

std::vector<Argument> of_events() {
  const std::set<Kind> kind = {Kind::kInfiniEvent};
  return {
      {"infinirtEventDestroy", "event", kind, kBad, 0,
       [](Zoo&, void* h) { return infinirtEventDestroy(h); }},
      {"infinirtEventRecord", "event", kind, kBad, kNull,
       [](Zoo&, void* h) { return infinirtEventRecord(h, nullptr); }},
      {"infinirtEventQuery", "event", kind, kBad, kNull,
       [](Zoo&, void* h) {
         infinirtEventStatus_t status;
         return infinirtEventQuery(h, &status);
       }},
      {"infinirtEventSynchronize", "event", kind, kBad, kNull,
       [](Zoo&, void* h) { return infinirtEventSynchronize(h); }},
      {"infinirtEventElapsedTime", "start", kind, kBad, kNull,
       [](Zoo& z, void* h) {
         float ms = 0;
         return infinirtEventElapsedTime(&ms, h, z.world.infini_event);
       }},
      {"infinirtEventElapsedTime", "end", kind, kBad, kNull,
       [](Zoo& z, void* h) {
         float ms = 0;
         return infinirtEventElapsedTime(&ms, z.world.infini_event, h);
       }},
      {"infinirtStreamWaitEvent", "event", kind, kBad, kNull,
       [](Zoo&, void* h) { return infinirtStreamWaitEvent(nullptr, h); }},
  };
}

// The one stream is null.
std::vector<Argument> of_streams() {
  return {
      {"infinirtStreamDestroy",
       "stream",
       {},
       kBad,
       0,
       [](Zoo&, void* h) { return infinirtStreamDestroy(h); }},
      {"infinirtStreamSynchronize",
       "stream",
       {},
       kBad,
       0,
       [](Zoo&, void* h) { return infinirtStreamSynchronize(h); }},
      {"infinirtStreamWaitEvent",
       "stream",
       {},
       kBad,
       0,
       [](Zoo& z, void* h) { return infinirtStreamWaitEvent(h, z.world.infini_event); }},
      {"infinirtEventRecord",
       "stream",
       {},
       kBad,
       0,
       [](Zoo& z, void* h) { return infinirtEventRecord(z.world.infini_event, h); }},
      {"infinirtMemcpyAsync",
       "stream",
       {},
       kBad,
       0,
       [](Zoo& z, void* h) {
         return infinirtMemcpyAsync(z.world.memory, z.world.pinned, 8, INFINIRT_MEMCPY_H2D, h);
       }},
      {"infinirtMemsetAsync",
       "stream",
       {},
       kBad,
       0,
       [](Zoo& z, void* h) { return infinirtMemsetAsync(z.world.memory, 1, 8, h); }},
      {"infinirtFreeAsync",
       "stream",
       {},
       kBad,
       0,
       [](Zoo&, void* h) { return infinirtFreeAsync(nullptr, h); }},
      {"infinirtMallocAsync",
       "stream",
       {},
       kBad,
       std::nullopt,
       [](Zoo&, void* h) {
         void* made = nullptr;
         return infinirtMallocAsync(&made, 8, h);
       }},
  };
}

// A CPU has no graphs and no capture: whatever the handle, that is the answer.
std::vector<Argument> of_graphs() {
  static constexpr int kNone = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
  const auto argument = [](const char* function, const char* name, int (*call)(void*)) {
    return Argument{function, name, {}, kNone, kNone, [call](Zoo&, void* h) { return call(h); }};
  };
  return {
      argument("infinirtStreamBeginCapture", "stream",
               [](void* h) -> int {
                 return infinirtStreamBeginCapture(h, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL);
               }),
      argument("infinirtStreamEndCapture", "stream",
               [](void* h) -> int {
                 infinirtGraph_t graph = nullptr;
                 return infinirtStreamEndCapture(h, &graph);
               }),
      argument("infinirtGraphInstantiate", "graph",
               [](void* h) -> int {
                 infinirtGraphExec_t made = nullptr;
                 return infinirtGraphInstantiate(&made, h, nullptr, nullptr, 0);
               }),
      argument("infinirtGraphDestroy", "graph",
               [](void* h) -> int { return infinirtGraphDestroy(h); }),
      argument("infinirtGraphExecDestroy", "graph_exec",
               [](void* h) -> int { return infinirtGraphExecDestroy(h); }),
      argument("infinirtGraphLuanch", "graph_exec",
               [](void* h) -> int { return infinirtGraphLuanch(h, nullptr); }),
      argument("infinirtGraphLuanch", "stream",
               [](void* h) -> int { return infinirtGraphLuanch(nullptr, h); }),
  };
}

// The operators' stream is ignored, so that it may be anything.
std::vector<Argument> of_ignored_streams() {
  const auto argument = [](const char* function, int (*call)(calls::World&, void*)) {
    return Argument{function, "stream", {},
                    0,        0,        [call](Zoo& z, void* h) { return call(z.world, h); }};
  };
  return {
      argument("infiniopRMSNormBackward",
               [](calls::World& w, void* h) -> int {
                 auto& v = w.values;
                 return infiniopRMSNormBackward(w.rms_norm, w.workspace, sizeof(w.workspace), v[0],
                                                v[1], v[2], v[3], v[4], h);
               }),
      argument("infiniopLayerNormBackward",
               [](calls::World& w, void* h) -> int {
                 auto& v = w.values;
                 return infiniopLayerNormBackward(w.layer_norm, w.workspace, sizeof(w.workspace),
                                                  v[0], v[1], v[2], v[3], v[4], v[5], v[6], h);
               }),
      argument("infiniopBatchNormBackward",
               [](calls::World& w, void* h) -> int {
                 auto& v = w.values;
                 return infiniopBatchNormBackward(w.batch_norm, w.workspace, sizeof(w.workspace),
                                                  v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
                                                  h);
               }),
  };
}

// The two families share their memory.
std::vector<Argument> of_memory() {
  const std::set<Kind> kinds = {Kind::kMemory, Kind::kPinned};
  return {
      {"infinirtFree", "ptr", kinds, kBad, 0, [](Zoo&, void* h) { return infinirtFree(h); }},
      {"infinirtFreeHost", "ptr", kinds, kBad, 0,
       [](Zoo&, void* h) { return infinirtFreeHost(h); }},
      {"infinirtFreeAsync", "ptr", kinds, kBad, 0,
       [](Zoo&, void* h) { return infinirtFreeAsync(h, nullptr); }},
  };
}

}  // namespace

std::vector<Argument> infini_arguments() {
  std::vector<Argument> all;
  for (const api_test::Operator* op : api_test::operators()) add_operator(*op, &all);
  for (const auto& some :
       {of_infiniop(), of_events(), of_streams(), of_graphs(), of_ignored_streams(), of_memory()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace handles
