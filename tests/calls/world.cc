#include "calls/world.h"

#include <aclnnop/aclnn_batch_norm_stats.h>

namespace calls {

World::World(Watch& watch) : watch_(watch) {
  for (auto& row : values) {
    for (float& value : row) value = 1;
  }
  make_infini();
  make_acl();
  make_aclnn();
}

void World::make_infini() {
  constexpr std::size_t kShape[] = {2, 3, 4};
  const auto describe = [&](infiniopTensorDescriptor_t* made, std::size_t rank,
                            const std::size_t* shape) {
    must(infiniopCreateTensorDescriptor(made, rank, shape, nullptr, INFINI_DTYPE_F32));
  };
  must(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  must(infiniopCreateHandle(&handle));
  describe(&data, 3, kShape);
  describe(&vector, 1, kShape + 2);
  describe(&per_row, 2, kShape);
  must(
      infiniopCreateRMSNormBackwardDescriptor(handle, &rms_norm, data, vector, data, data, vector));
  must(infiniopCreateLayerNormBackwardDescriptor(handle, &layer_norm, data, vector, vector, data,
                                                 vector, data, per_row));
  infiniopTensorDescriptor_t channels = nullptr;
  describe(&channels, 1, kShape + 1);
  must(infiniopCreateBatchNormBackwardDescriptor(handle, &batch_norm, data, channels, channels,
                                                 data, data, channels, channels, channels));
  must(infiniopDestroyTensorDescriptor(channels));
  must(infinirtEventCreate(&infini_event));
  must(infinirtEventRecord(infini_event, nullptr));
}

void World::make_acl() {
  const int code = aclInit(nullptr);
  watch_.expect(code == 0 || code == ACL_ERROR_REPEAT_INITIALIZE, "aclInit");
  must(aclrtSetDevice(0));
  must(aclrtCreateStream(&stream));
  must(aclrtCreateEvent(&event));
  must(aclrtRecordEvent(event,
                        nullptr));  // the stream itself has never had work: it has no thread yet
  must(aclrtSynchronizeStream(nullptr));
  must(aclrtMalloc(&memory, 256, ACL_MEM_MALLOC_HUGE_FIRST));
  must(aclrtMallocHost(&pinned, 256));
  buffer = aclCreateDataBuffer(memory, 256);
  watch_.expect(buffer != nullptr, "aclCreateDataBuffer");
}

aclTensor* World::new_tensor(std::initializer_list<std::int64_t> shape, int place) {
  aclTensor* const made =
      aclCreateTensor(shape.begin(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                      shape.begin(), shape.size(), values[place]);
  watch_.expect(made != nullptr, "aclCreateTensor");
  return made;
}

void World::make_aclnn() {
  int place = 0;
  for (aclTensor** t : {&tensor, &dy, &x, &dx}) *t = new_tensor({2, 3, 4}, place++);
  for (aclTensor*& t : channel) t = new_tensor({3}, place++);
  for (aclTensor*& t : rows) t = new_tensor({2, 3}, place++);
  counts = new_tensor({2}, place++);
  const bool bits[] = {true, true, true};
  const std::int64_t numbers[] = {1, 2};
  mask = aclCreateBoolArray(bits, 3);
  ints = aclCreateIntArray(numbers, 2);
  floats = aclCreateFloatArray(values[0], 2);
  watch_.expect(mask != nullptr && ints != nullptr && floats != nullptr, "arrays");
}

aclOpExecutor* World::executor(std::uint64_t* size) {
  aclOpExecutor* made = nullptr;
  must(aclnnBatchNormStatsGetWorkspaceSize(x, 1e-5, channel[0], channel[1], size, &made));
  return made;
}

void World::settle() {
  if (aclrtSynchronizeStream(stream) != 0) aclGetRecentErrMsg();
}

void World::forget_acl() { acl_lives_ = false; }

World::~World() {
  for (const aclTensor* t : {tensor, dy, x, dx, counts}) must(aclDestroyTensor(t));
  for (const aclTensor* t : channel) must(aclDestroyTensor(t));
  for (const aclTensor* t : rows) must(aclDestroyTensor(t));
  must(aclDestroyBoolArray(mask));
  must(aclDestroyIntArray(ints));
  must(aclDestroyFloatArray(floats));
  must(aclDestroyDataBuffer(buffer));
  must(aclrtFree(memory));
  must(aclrtFreeHost(pinned));
  if (acl_lives_) {
    must(aclrtDestroyEvent(event));
    must(aclrtDestroyStream(stream));
    must(aclrtResetDevice(0));
  }
  must(infinirtEventDestroy(infini_event));
  must(infiniopDestroyRMSNormBackwardDescriptor(rms_norm));
  must(infiniopDestroyLayerNormBackwardDescriptor(layer_norm));
  must(infiniopDestroyBatchNormBackwardDescriptor(batch_norm));
  for (infiniopTensorDescriptor_t t : {data, vector, per_row}) {
    must(infiniopDestroyTensorDescriptor(t));
  }
  must(infiniopDestroyHandle(handle));
}

std::vector<Entry> all_calls() {
  std::vector<Entry> all;
  for (const auto& some : {infinirt_calls(), infiniop_calls(), device_calls(), stream_calls(),
                           memory_calls(), nnopbase_calls(), opapi_nn_calls()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace calls
