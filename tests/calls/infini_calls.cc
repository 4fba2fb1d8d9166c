// The calls of libinfinirt.so and libinfiniop.so.
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

// The descriptors that World made are of these tensors, too.
infiniStatus_t create_rms_norm(W w, InfiniopDescriptor** made) {
  return infiniopCreateRMSNormBackwardDescriptor(w.handle, made, w.data, w.vector, w.data, w.data,
                                                 w.vector);
}
infiniStatus_t create_layer_norm(W w, InfiniopDescriptor** made) {
  return infiniopCreateLayerNormBackwardDescriptor(w.handle, made, w.data, w.vector, w.vector,
                                                   w.data, w.vector, w.data, w.per_row);
}

template <class Create, class Destroy>
void destroys(W w, Create&& create, Destroy&& destroy) {
  InfiniopDescriptor* made = nullptr;
  w.must(create(w, &made));
  w.succeeds([&] { return destroy(made); });
}

// With its channels in a descriptor of their own.
infiniStatus_t create_batch_norm(W w, infiniopTensorDescriptor_t c, InfiniopDescriptor** made) {
  return infiniopCreateBatchNormBackwardDescriptor(w.handle, made, w.data, c, c, w.data, w.data, c,
                                                   c, c);
}

infiniopTensorDescriptor_t channels(W w) {
  constexpr std::size_t kChannels = 3;
  infiniopTensorDescriptor_t made = nullptr;
  w.must(infiniopCreateTensorDescriptor(&made, 1, &kChannels, nullptr, INFINI_DTYPE_F32));
  return made;
}

template <class Ask>
void asks_size(W w, Ask&& ask, InfiniopDescriptor* desc) {
  std::size_t size = 0;
  w.succeeds([&] { return ask(desc, &size); });
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

std::vector<Entry> of_row_norms() {
  return {
      {"infiniopCreateRMSNormBackwardDescriptor",
       [](W w) {
         w.makes<InfiniopDescriptor>([&](auto made) { return create_rms_norm(w, made); },
                                     infiniopDestroyRMSNormBackwardDescriptor);
       }},
      {"infiniopGetRMSNormBackwardWorkspaceSize",
       [](W w) { asks_size(w, infiniopGetRMSNormBackwardWorkspaceSize, w.rms_norm); }},
      {"infiniopRMSNormBackward",
       [](W w) {
         w.succeeds([&] {
           return infiniopRMSNormBackward(w.rms_norm, w.workspace, sizeof(w.workspace), w.values[0],
                                          w.values[1], w.values[2], w.values[3], w.values[4],
                                          nullptr);
         });
       }},
      {"infiniopDestroyRMSNormBackwardDescriptor",
       [](W w) { destroys(w, create_rms_norm, infiniopDestroyRMSNormBackwardDescriptor); }},
      {"infiniopCreateLayerNormBackwardDescriptor",
       [](W w) {
         w.makes<InfiniopDescriptor>([&](auto made) { return create_layer_norm(w, made); },
                                     infiniopDestroyLayerNormBackwardDescriptor);
       }},
      {"infiniopGetLayerNormBackwardWorkspaceSize",
       [](W w) { asks_size(w, infiniopGetLayerNormBackwardWorkspaceSize, w.layer_norm); }},
      {"infiniopLayerNormBackward",
       [](W w) {
         w.succeeds([&] {
           return infiniopLayerNormBackward(w.layer_norm, w.workspace, sizeof(w.workspace),
                                            w.values[0], w.values[1], w.values[2], w.values[3],
                                            w.values[4], w.values[5], w.values[6], nullptr);
         });
       }},
      {"infiniopDestroyLayerNormBackwardDescriptor",
       [](W w) { destroys(w, create_layer_norm, infiniopDestroyLayerNormBackwardDescriptor); }},
  };
}

std::vector<Entry> of_batch_norm() {
  return {
      {"infiniopCreateBatchNormBackwardDescriptor",
       [](W w) {
         infiniopTensorDescriptor_t const c = channels(w);
         w.makes<InfiniopDescriptor>([&](auto made) { return create_batch_norm(w, c, made); },
                                     infiniopDestroyBatchNormBackwardDescriptor);
         w.must(infiniopDestroyTensorDescriptor(c));
       }},
      {"infiniopGetBatchNormBackwardWorkspaceSize",
       [](W w) { asks_size(w, infiniopGetBatchNormBackwardWorkspaceSize, w.batch_norm); }},
      {"infiniopBatchNormBackward",
       [](W w) {
         w.succeeds([&] {
           return infiniopBatchNormBackward(w.batch_norm, w.workspace, sizeof(w.workspace),
                                            w.values[0], w.values[1], w.values[2], w.values[3],
                                            w.values[4], w.values[5], w.values[6], w.values[7],
                                            nullptr);
         });
       }},
      {"infiniopDestroyBatchNormBackwardDescriptor",
       [](W w) {
         infiniopTensorDescriptor_t const c = channels(w);
         destroys(
             w, [&](W, auto made) { return create_batch_norm(w, c, made); },
             infiniopDestroyBatchNormBackwardDescriptor);
         w.must(infiniopDestroyTensorDescriptor(c));
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
  return joined({of_handles(), of_row_norms(), of_batch_norm()});
}

}  // namespace calls
