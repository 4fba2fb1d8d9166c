// Handles and tensor descriptors.
#include <cstdint>
#include <thread>

#include "api/operators.h"

namespace api_test {
namespace {

TEST(InfiniopHandle, NullIsANullPointer) {
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infiniopCreateHandle(nullptr),
                         "infiniopCreateHandle", "handle_ptr"));
}

TEST(InfiniopHandle, BeginsWithDeviceAndNumber) {
  ASSERT_EQ(infinirtSetDevice(INFINI_DEVICE_CPU, 5), INFINI_STATUS_SUCCESS);
  const Handle handle;
  ASSERT_EQ(infinirtSetDevice(INFINI_DEVICE_CPU, 0), INFINI_STATUS_SUCCESS);
  const int* head = reinterpret_cast<const int*>(handle.get());
  EXPECT_EQ(head[0], INFINI_DEVICE_CPU);
  EXPECT_EQ(head[1], 0) << "there is only one CPU";
}

TEST(InfiniopHandle, DestroyingNullSucceedsAndTwiceFails) {
  EXPECT_EQ(infiniopDestroyHandle(nullptr), INFINI_STATUS_SUCCESS);
  infiniopHandle_t handle = nullptr;
  ASSERT_EQ(infiniopCreateHandle(&handle), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyHandle(handle), INFINI_STATUS_SUCCESS);
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infiniopDestroyHandle(handle),
                         "infiniopDestroyHandle", "handle"));
}

TEST(InfiniopHandle, ForeignPointersAndOtherTypesAreNotDestroyed) {
  TensorDescriptors tensors({contiguous({2})});
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infiniopDestroyHandle(sentinel<InfiniopHandle>()),
                         "infiniopDestroyHandle", "handle"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                         infiniopDestroyHandle(reinterpret_cast<infiniopHandle_t>(tensors[0])),
                         "infiniopDestroyHandle", "handle"));
  const Handle handle;
  EXPECT_TRUE(fails_with(
      INFINI_STATUS_BAD_PARAM,
      infiniopDestroyTensorDescriptor(reinterpret_cast<infiniopTensorDescriptor_t>(handle.get())),
      "infiniopDestroyTensorDescriptor", "desc"));
}

TEST(InfiniopHandle, ManyMayLive) {
  const Handle one;
  const Handle other;
  EXPECT_NE(one.get(), other.get());
}

infiniStatus_t create_tensor(infiniopTensorDescriptor_t* desc,
                             const std::vector<std::size_t>& shape, const std::ptrdiff_t* strides,
                             int dtype = INFINI_DTYPE_F32) {
  return infiniopCreateTensorDescriptor(desc, shape.size(), shape.data(), strides,
                                        static_cast<infiniDtype_t>(dtype));
}

const std::string kCreate = "infiniopCreateTensorDescriptor";

TEST(InfiniopTensorDescriptor, NullIsANullPointer) {
  auto* desc = sentinel<InfiniopTensorDescriptor>();
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, create_tensor(nullptr, {2, 3}, nullptr),
                         kCreate, "desc_ptr"));
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_NULL_POINTER,
                 infiniopCreateTensorDescriptor(&desc, 2, nullptr, nullptr, INFINI_DTYPE_F32),
                 kCreate, "shape"));
  EXPECT_EQ(desc, sentinel<InfiniopTensorDescriptor>());
}

TEST(InfiniopTensorDescriptor, AScalarNeedsNoShape) {
  infiniopTensorDescriptor_t desc = nullptr;
  EXPECT_EQ(infiniopCreateTensorDescriptor(&desc, 0, nullptr, nullptr, INFINI_DTYPE_F32),
            INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(desc), INFINI_STATUS_SUCCESS);
}

TEST(InfiniopTensorDescriptor, TakesAnyDtypeAndAnyStrides) {
  const std::ptrdiff_t strides[] = {0, -7, PTRDIFF_MIN, PTRDIFF_MAX};
  for (const int dtype : {0, 5, 13, 19, 20, 1000, -1}) {
    infiniopTensorDescriptor_t desc = nullptr;
    EXPECT_EQ(create_tensor(&desc, {2, 0, 1, SIZE_MAX}, strides, dtype), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infiniopDestroyTensorDescriptor(desc), INFINI_STATUS_SUCCESS);
  }
}

TEST(InfiniopTensorDescriptor, HasAtMost64Dimensions) {
  auto* desc = sentinel<InfiniopTensorDescriptor>();
  const std::vector<std::size_t> shape(65, 1);
  EXPECT_TRUE(
      fails_with(INFINI_STATUS_BAD_PARAM, create_tensor(&desc, shape, nullptr), kCreate, "ndim"));
  EXPECT_TRUE(fails_with(
      INFINI_STATUS_BAD_PARAM,
      infiniopCreateTensorDescriptor(&desc, SIZE_MAX, shape.data(), nullptr, INFINI_DTYPE_F32),
      kCreate, "ndim"));
  EXPECT_EQ(desc, sentinel<InfiniopTensorDescriptor>());
  EXPECT_EQ(create_tensor(&desc, std::vector<std::size_t>(64, 1), nullptr), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(desc), INFINI_STATUS_SUCCESS);
}

TEST(InfiniopTensorDescriptor, ContiguousStridesMustFit) {
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  auto* desc = sentinel<InfiniopTensorDescriptor>();
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{2, kHuge, kHuge},
                                                {2, SIZE_MAX},
                                                {1, SIZE_MAX, 2},
                                                {0, kHuge, kHuge}}) {
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_TENSOR_SHAPE, create_tensor(&desc, shape, nullptr),
                           kCreate, "shape"));
    EXPECT_EQ(desc, sentinel<InfiniopTensorDescriptor>());
  }
}

TEST(InfiniopTensorDescriptor, NullStridesAreContiguous) {
  const Operator& op = batch_norm();  // which takes nothing else
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{3, 4, 5}, {1, 1, 1}, {0, 4, 5}, {3, 0, 5}, {3, 4, 0}}) {
    const Handle handle;
    std::vector<infiniopTensorDescriptor_t> tensors;
    for (const TensorSpec& spec : specs_for(op, shape)) {
      tensors.push_back(nullptr);
      EXPECT_EQ(create_tensor(&tensors.back(), spec.shape, nullptr), INFINI_STATUS_SUCCESS);
    }
    InfiniopDescriptor* desc = nullptr;
    EXPECT_EQ(op.create(handle.get(), &desc, tensors.data()), INFINI_STATUS_SUCCESS);
    for (auto* tensor : tensors)
      EXPECT_EQ(infiniopDestroyTensorDescriptor(tensor), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(op.destroy(desc), INFINI_STATUS_SUCCESS);
  }
}

TEST(InfiniopTensorDescriptor, DestroyingNullSucceedsAndTwiceFails) {
  EXPECT_EQ(infiniopDestroyTensorDescriptor(nullptr), INFINI_STATUS_SUCCESS);
  infiniopTensorDescriptor_t desc = nullptr;
  ASSERT_EQ(create_tensor(&desc, {2}, nullptr), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(desc), INFINI_STATUS_SUCCESS);
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infiniopDestroyTensorDescriptor(desc),
                         "infiniopDestroyTensorDescriptor", "desc"));
}

TEST(InfiniopLifeCycle, ThreadsCreateAndDestroyAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        for (const Operator* op : operators())
          const Descriptor descriptor(*op, specs_for(*op, {2, 3, 4}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace api_test
