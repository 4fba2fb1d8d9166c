#include <gtest/gtest.h>

#include "handles/arguments.h"

namespace handles {
namespace {

constexpr std::int64_t kExtent = 3;

aclTensor* new_tensor() {
  return aclCreateTensor(&kExtent, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
}

aclScalar* new_scalar() {
  float value = 1;
  return aclCreateScalar(&value, ACL_FLOAT);
}

template <class T, class Destroy>
void* destroyed(T* made, Destroy&& destroy) {
  EXPECT_NE(made, nullptr);
  EXPECT_EQ(destroy(made), 0);
  return made;
}

template <class T, class Create, class Destroy>
void* made_and_destroyed(Create&& create, Destroy&& destroy) {
  T made{};
  EXPECT_EQ(create(&made), 0);
  EXPECT_EQ(destroy(made), 0);
  return made;
}

void* dead_batch_norm(calls::World& w) {
  constexpr std::size_t kChannels = 3;
  infiniopTensorDescriptor_t c = nullptr;
  EXPECT_EQ(infiniopCreateTensorDescriptor(&c, 1, &kChannels, nullptr, INFINI_DTYPE_F32), 0);
  void* const dead = made_and_destroyed<InfiniopDescriptor*>(
      [&](auto made) {
        return infiniopCreateBatchNormBackwardDescriptor(w.handle, made, w.data, c, c, w.data,
                                                         w.data, c, c, c);
      },
      infiniopDestroyBatchNormBackwardDescriptor);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(c), 0);
  return dead;
}

void* dead_infini(Zoo& zoo, Kind kind) {
  calls::World& w = zoo.world;
  switch (kind) {
    case Kind::kInfiniHandle:
      return made_and_destroyed<infiniopHandle_t>(infiniopCreateHandle, infiniopDestroyHandle);
    case Kind::kInfiniTensor:
      return made_and_destroyed<infiniopTensorDescriptor_t>(
          [](auto made) {
            return infiniopCreateTensorDescriptor(made, 0, nullptr, nullptr, INFINI_DTYPE_F32);
          },
          infiniopDestroyTensorDescriptor);
    case Kind::kRmsNorm:
      return made_and_destroyed<InfiniopDescriptor*>(
          [&](auto made) {
            return infiniopCreateRMSNormBackwardDescriptor(w.handle, made, w.data, w.vector, w.data,
                                                           w.data, w.vector);
          },
          infiniopDestroyRMSNormBackwardDescriptor);
    case Kind::kLayerNorm:
      return made_and_destroyed<InfiniopDescriptor*>(
          [&](auto made) {
            return infiniopCreateLayerNormBackwardDescriptor(
                w.handle, made, w.data, w.vector, nullptr, w.data, w.vector, w.data, w.per_row);
          },
          infiniopDestroyLayerNormBackwardDescriptor);
    case Kind::kBatchNorm:
      return dead_batch_norm(w);
    case Kind::kInfiniEvent:
      return made_and_destroyed<infinirtEvent_t>(infinirtEventCreate, infinirtEventDestroy);
    default:
      return nullptr;
  }
}

void* dead_acl(Zoo& zoo, Kind kind) {
  switch (kind) {
    case Kind::kStream:
      return made_and_destroyed<aclrtStream>(aclrtCreateStream, aclrtDestroyStream);
    case Kind::kEvent:
      return made_and_destroyed<aclrtEvent>(aclrtCreateEvent, aclrtDestroyEvent);
    case Kind::kContext: {
      void* const made = made_and_destroyed<aclrtContext>(
          [](auto context) { return aclrtCreateContext(context, 0); }, aclrtDestroyContext);
      EXPECT_EQ(aclrtSetCurrentContext(zoo.own), 0);
      return made;
    }
    case Kind::kMemory:
      return made_and_destroyed<void*>(
          [](auto made) { return aclrtMalloc(made, 64, ACL_MEM_MALLOC_HUGE_FIRST); }, aclrtFree);
    case Kind::kPinned:
      return made_and_destroyed<void*>([](auto made) { return aclrtMallocHost(made, 64); },
                                       aclrtFreeHost);
    case Kind::kBuffer:
      return destroyed(aclCreateDataBuffer(nullptr, 1), aclDestroyDataBuffer);
    default:
      return nullptr;
  }
}

void* dead_aclnn(Zoo& zoo, Kind kind) {
  constexpr bool kBit = true;
  constexpr float kNumber = 1;
  switch (kind) {
    case Kind::kTensor:
      return destroyed(new_tensor(), aclDestroyTensor);
    case Kind::kScalar:
      return destroyed(new_scalar(), aclDestroyScalar);
    case Kind::kInts:
      return destroyed(aclCreateIntArray(&kExtent, 1), aclDestroyIntArray);
    case Kind::kFloats:
      return destroyed(aclCreateFloatArray(&kNumber, 1), aclDestroyFloatArray);
    case Kind::kBools:
      return destroyed(aclCreateBoolArray(&kBit, 1), aclDestroyBoolArray);
    case Kind::kTensorList:
      return destroyed(aclCreateTensorList(nullptr, 0), aclDestroyTensorList);
    case Kind::kScalarList:
      return destroyed(aclCreateScalarList(nullptr, 0), aclDestroyScalarList);
    case Kind::kExecutor:
    case Kind::kRepeatable: {
      aclOpExecutor* const made = zoo.world.executor(&zoo.size);
      if (kind == Kind::kRepeatable) {
        EXPECT_EQ(aclSetAclOpExecutorRepeatable(made), 0);
      }
      return destroyed(made, aclDestroyAclOpExecutor);
    }
    default:
      return nullptr;
  }
}

}  // namespace

void Expectations::expect(bool holds, const char* what) { EXPECT_TRUE(holds) << what; }

Zoo::Zoo() {
  EXPECT_EQ(aclrtGetCurrentContext(&own), 0);
  EXPECT_EQ(aclrtCreateContext(&context, 0), 0);
  EXPECT_EQ(aclrtSetCurrentContext(own), 0);
  const aclTensor* const element = new_tensor();
  const aclScalar* const value = new_scalar();
  scalar = new_scalar();
  tensors = aclCreateTensorList(&element, 1);
  scalars = aclCreateScalarList(&value, 1);
  executor = world.executor(&size);
  repeatable = world.executor(&size);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(repeatable), 0);
}

Zoo::~Zoo() {
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);  // of calls with a null stream
  EXPECT_EQ(aclDestroyScalar(scalar), 0);
  EXPECT_EQ(aclDestroyTensorList(tensors), 0);
  EXPECT_EQ(aclDestroyScalarList(scalars), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
  EXPECT_EQ(aclrtDestroyContext(context), 0);
  EXPECT_EQ(aclrtSetCurrentContext(own), 0);
}

void* Zoo::live(Kind kind) {
  calls::World& w = world;
  void* const all[kKinds] = {
      w.handle, w.data,   w.rms_norm, w.layer_norm, w.batch_norm, w.infini_event, w.stream,
      w.event,  context,  w.memory,   w.pinned,     w.buffer,     w.tensor,       scalar,
      w.ints,   w.floats, w.mask,     tensors,      scalars,      executor,       repeatable};
  return all[static_cast<int>(kind)];
}

void* Zoo::dead(Kind kind) {
  if (kind < Kind::kStream) return dead_infini(*this, kind);
  return kind < Kind::kTensor ? dead_acl(*this, kind) : dead_aclnn(*this, kind);
}

}  // namespace handles
