// The calls of libinfinirt.so and libinfiniop.so.
#include "api/operator_table.h"
#include "calls/world.h"

namespace calls {
namespace {

using W = World&;
constexpr int kNoGraphs = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;

template <class Create>
void makes_event(W w, Create&& create) {
  w.makes<void>(create, infinirtEventDestroy);
}

std::vector<Entry> of_devices() {
  return {
      {"infinirtInit", [](W w) { w.succeeds([] { return infinirtInit(); }); }},
      {"infinirtGetAllDeviceCount",
       [](W w) {
         int counts[INFINI_DEVICE_TYPE_COUNT] = {};
         w.succeeds([&] { return infinirtGetAllDeviceCount(counts); });
       }},
      {"infinirtGetDeviceCount",
       [](W w) {
         int count = 0;
         w.succeeds([&] { return infinirtGetDeviceCount(INFINI_DEVICE_CPU, &count); });
       }},
      {"infinirtSetDevice",
       [](W w) { w.succeeds([] { return infinirtSetDevice(INFINI_DEVICE_CPU, 0); }); }},
      {"infinirtGetDevice",
       [](W w) {
         infiniDevice_t device;
         int number = 0;
         w.succeeds([&] { return infinirtGetDevice(&device, &number); });
       }},
      {"infinirtDeviceSynchronize", [](W w) { w.succeeds(infinirtDeviceSynchronize); }},
      {"infinirtGetMemInfo",
       [](W w) {
         std::size_t sizes[2];
         w.may_fail([&] { return infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, sizes, sizes + 1); });
       }},
      {"infinirtGetDeviceResourceSnapshot",
       [](W w) {
         infinirtDeviceResourceSnapshot_t snapshot;
         w.may_fail(
             [&] { return infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &snapshot); });
       }},
  };
}

std::vector<Entry> of_streams_and_events() {
  return {
      {"infinirtStreamCreate",
       [](W w) {
         infinirtStream_t made = nullptr;
         w.succeeds([&] { return infinirtStreamCreate(&made); });
       }},
      {"infinirtStreamDestroy",
       [](W w) { w.succeeds([] { return infinirtStreamDestroy(nullptr); }); }},
      {"infinirtStreamSynchronize",
       [](W w) { w.succeeds([] { return infinirtStreamSynchronize(nullptr); }); }},
      {"infinirtStreamWaitEvent",
       [](W w) { w.succeeds([&] { return infinirtStreamWaitEvent(nullptr, w.infini_event); }); }},
      {"infinirtEventCreate", [](W w) { makes_event(w, infinirtEventCreate); }},
      {"infinirtEventCreateWithFlags",
       [](W w) {
         makes_event(w, [](infinirtEvent_t* e) {
           return infinirtEventCreateWithFlags(e, INFINIRT_EVENT_DISABLE_TIMING);
         });
       }},
      {"infinirtEventRecord",
       [](W w) { w.succeeds([&] { return infinirtEventRecord(w.infini_event, nullptr); }); }},
      {"infinirtEventQuery",
       [](W w) {
         infinirtEventStatus_t status;
         w.succeeds([&] { return infinirtEventQuery(w.infini_event, &status); });
       }},
      {"infinirtEventSynchronize",
       [](W w) { w.succeeds([&] { return infinirtEventSynchronize(w.infini_event); }); }},
      {"infinirtEventElapsedTime",
       [](W w) {
         float ms = 0;
         w.succeeds([&] { return infinirtEventElapsedTime(&ms, w.infini_event, w.infini_event); });
       }},
      {"infinirtEventDestroy",
       [](W w) {
         infinirtEvent_t made = nullptr;
         w.must(infinirtEventCreate(&made));
         w.succeeds([&] { return infinirtEventDestroy(made); });
       }},
  };
}

template <class Free>
void frees(W w, Free&& release) {
  void* made = nullptr;
  w.must(infinirtMalloc(&made, 256));
  w.succeeds([&] { return release(made); });
}

std::vector<Entry> of_memory() {
  return {
      {"infinirtMalloc",
       [](W w) {
         w.makes<void>([&](void** p) { return infinirtMalloc(p, w.device_bytes()); }, infinirtFree);
       }},
      {"infinirtMallocHost",
       [](W w) {
         w.makes<void>([&](void** p) { return infinirtMallocHost(p, w.device_bytes()); },
                       infinirtFreeHost);
       }},
      {"infinirtMallocAsync",
       [](W w) {
         w.makes<void>([&](void** p) { return infinirtMallocAsync(p, w.device_bytes(), nullptr); },
                       infinirtFree);
       }},
      {"infinirtFree", [](W w) { frees(w, infinirtFree); }},
      {"infinirtFreeHost",
       [](W w) {
         void* made = nullptr;
         w.must(infinirtMallocHost(&made, 256));
         w.succeeds([&] { return infinirtFreeHost(made); });
       }},
      {"infinirtFreeAsync",
       [](W w) { frees(w, [](void* p) { return infinirtFreeAsync(p, nullptr); }); }},
      {"infinirtMemcpy",
       [](W w) {
         w.succeeds(
             [&] { return infinirtMemcpy(w.memory, w.values[0], 240, INFINIRT_MEMCPY_H2D); });
       }},
      {"infinirtMemcpyAsync",
       [](W w) {
         w.succeeds([&] {
           return infinirtMemcpyAsync(w.memory, w.values[0], 240, INFINIRT_MEMCPY_H2D, nullptr);
         });
       }},
      {"infinirtMemset", [](W w) { w.succeeds([&] { return infinirtMemset(w.memory, 1, 256); }); }},
      {"infinirtMemsetAsync",
       [](W w) { w.succeeds([&] { return infinirtMemsetAsync(w.memory, 1, 256, nullptr); }); }},
  };
}

std::vector<Entry> of_graphs() {
  return {
      {"infinirtStreamBeginCapture",
       [](W w) {
         w.answers(kNoGraphs, [] {
           return infinirtStreamBeginCapture(nullptr, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL);
         });
       }},
      {"infinirtStreamEndCapture",
       [](W w) {
         infinirtGraph_t graph = nullptr;
         w.answers(kNoGraphs, [&] { return infinirtStreamEndCapture(nullptr, &graph); });
       }},
      {"infinirtGraphInstantiate",
       [](W w) {
         infinirtGraphExec_t exec = nullptr;
         w.answers(kNoGraphs,
                   [&] { return infinirtGraphInstantiate(&exec, nullptr, nullptr, nullptr, 0); });
       }},
      {"infinirtGraphDestroy",
       [](W w) { w.answers(kNoGraphs, [] { return infinirtGraphDestroy(nullptr); }); }},
      {"infinirtGraphExecDestroy",
       [](W w) { w.answers(kNoGraphs, [] { return infinirtGraphExecDestroy(nullptr); }); }},
      {"infinirtGraphLuanch",
       [](W w) { w.answers(kNoGraphs, [] { return infinirtGraphLuanch(nullptr, nullptr); }); }},
  };
}

infiniopTensorDescriptor_t channels(W w) {
  constexpr std::size_t kChannels = 3;
  infiniopTensorDescriptor_t made = nullptr;
  w.must(infiniopCreateTensorDescriptor(&made, 1, &kChannels, nullptr, INFINI_DTYPE_F32));
  return made;
}

// Of the tensors of an operator, channels in a descriptor of their own.
class OperatorDescriptors {
 public:
  OperatorDescriptors(W w, const api_test::Operator& op) : world_(w), channels_(channels(w)) {
    for (const api_test::Argument& argument : op.arguments) {
      tensors_.push_back(argument.form == api_test::Form::kData     ? w.data
                         : argument.form == api_test::Form::kPerRow ? w.per_row
                         : op.vector_dim == 1                       ? channels_
                                                                    : w.vector);
    }
  }
  ~OperatorDescriptors() { world_.must(infiniopDestroyTensorDescriptor(channels_)); }
  OperatorDescriptors(const OperatorDescriptors&) = delete;
  OperatorDescriptors& operator=(const OperatorDescriptors&) = delete;
  const infiniopTensorDescriptor_t* data() const { return tensors_.data(); }

 private:
  W world_;
  infiniopTensorDescriptor_t channels_;
  std::vector<infiniopTensorDescriptor_t> tensors_;
};

// body(desc) of an operator's descriptor, which it destroys if `ends`.
template <class Body>
void with_descriptor(W w, const api_test::Operator& op, bool ends, Body&& body) {
  const OperatorDescriptors tensors(w, op);
  InfiniopDescriptor* made = nullptr;
  w.must(op.create(w.handle, &made, tensors.data()));
  body(made);
  if (!ends) w.must(op.destroy(made));
}

std::vector<Entry> of_operator(const api_test::Operator& op) {
  return {
      {op.create_name(),
       [&op](W w) {
         const OperatorDescriptors tensors(w, op);
         w.makes<InfiniopDescriptor>(
             [&](auto made) { return op.create(w.handle, made, tensors.data()); }, op.destroy);
       }},
      {op.workspace_size_name(),
       [&op](W w) {
         with_descriptor(w, op, false, [&](InfiniopDescriptor* desc) {
           std::size_t size = 0;
           w.succeeds([&] { return op.workspace_size(desc, &size); });
         });
       }},
      {op.compute_name(),
       [&op](W w) {
         with_descriptor(w, op, false, [&](InfiniopDescriptor* desc) {
           void* data[8];
           for (int i = 0; i < 8; ++i) data[i] = w.values[i];
           w.succeeds([&] { return op.compute(desc, w.workspace, sizeof(w.workspace), data); });
         });
       }},
      {op.destroy_name(),
       [&op](W w) {
         with_descriptor(w, op, true, [&](InfiniopDescriptor* desc) {
           w.succeeds([&] { return op.destroy(desc); });
         });
       }},
  };
}

std::vector<Entry> of_handles() {
  return {
      {"infiniopCreateHandle",
       [](W w) { w.makes<InfiniopHandle>(infiniopCreateHandle, infiniopDestroyHandle); }},
      {"infiniopDestroyHandle",
       [](W w) {
         infiniopHandle_t made = nullptr;
         w.must(infiniopCreateHandle(&made));
         w.succeeds([&] { return infiniopDestroyHandle(made); });
       }},
      {"infiniopCreateTensorDescriptor",
       [](W w) {
         constexpr std::size_t kShape[] = {2, 3, 4};
         w.makes<InfiniopTensorDescriptor>(
             [&](infiniopTensorDescriptor_t* t) {
               return infiniopCreateTensorDescriptor(t, 3, kShape, nullptr, INFINI_DTYPE_F32);
             },
             infiniopDestroyTensorDescriptor);
       }},
      {"infiniopDestroyTensorDescriptor",
       [](W w) {
         infiniopTensorDescriptor_t const made = channels(w);
         w.succeeds([&] { return infiniopDestroyTensorDescriptor(made); });
       }},
      {"infiniopGetDescriptorDeviceType",
       [](W w) {
         infiniDevice_t type;
         w.succeeds([&] { return infiniopGetDescriptorDeviceType(w.rms_norm, &type); });
       }},
      {"infiniopGetDescriptorDeviceId",
       [](W w) {
         int id = 0;
         w.succeeds([&] { return infiniopGetDescriptorDeviceId(w.rms_norm, &id); });
       }},
  };
}

std::vector<Entry> joined(std::initializer_list<std::vector<Entry>> lists) {
  std::vector<Entry> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

std::vector<Entry> infinirt_calls() {
  return joined({of_devices(), of_streams_and_events(), of_memory(), of_graphs()});
}
std::vector<Entry> infiniop_calls() {
  std::vector<Entry> all = of_handles();
  for (const api_test::Operator* op : api_test::operators()) {
    const std::vector<Entry> some = of_operator(*op);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace calls
