// Tensors, scalars, arrays and lists.
#include <climits>
#include <memory>

#include "api/aclnn/operators.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR;
constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;

using GetDims = aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*);

std::vector<int64_t> get(GetDims function, const aclTensor* tensor) {
  int64_t* dims = nullptr;
  uint64_t size = 99;
  EXPECT_EQ(function(tensor, &dims, &size), 0);
  const std::unique_ptr<int64_t[]> owned(dims);
  return {dims, dims + size};
}

aclTensor* tensor_of(const std::vector<int64_t>& shape, void* address = nullptr) {
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                         shape.data(), shape.size(), address);
}

// Null, and a sentence that names the function and the argument.
testing::AssertionResult fails(const void* handle, const char* function, const char* argument) {
  if (handle != nullptr) return testing::AssertionFailure() << "a handle was created";
  const std::string sentence = normgradGetLastError();
  const char* recent = aclGetRecentErrMsg();
  if (recent == nullptr || !names(recent, function) || !names(recent, argument)) {
    return testing::AssertionFailure() << sentence;
  }
  return testing::AssertionSuccess();
}

TEST(MetaTensor, TellsWhatItWasMadeOf) {
  const int64_t shape[] = {2, 3}, strides[] = {30, 5}, storage[] = {100};
  double memory[1];
  aclTensor* tensor =
      aclCreateTensor(shape, 2, ACL_BF16, strides, 7, ACL_FORMAT_NCHW, storage, 1, memory);
  EXPECT_EQ(get(aclGetViewShape, tensor), std::vector<int64_t>({2, 3}));
  EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>({30, 5}));
  EXPECT_EQ(get(aclGetStorageShape, tensor), std::vector<int64_t>({100}));
  int64_t offset = 0;
  auto format = ACL_FORMAT_UNDEFINED;
  auto dtype = ACL_DT_UNDEFINED;
  void* address = nullptr;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), 0);
  EXPECT_EQ(aclGetFormat(tensor, &format), 0);
  EXPECT_EQ(aclGetDataType(tensor, &dtype), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(offset, 7);
  EXPECT_EQ(format, ACL_FORMAT_NCHW);
  EXPECT_EQ(dtype, ACL_BF16);
  EXPECT_EQ(address, memory);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, WithoutStridesIsContiguous) {
  aclTensor* tensor = tensor_of({2, 3, 4});
  EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>({12, 4, 1}));
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
  tensor = tensor_of({2, 0, 4});
  EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>({4, 4, 1}));
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, MayHaveAnyRankUpTo64AndNoDimensions) {
  for (const std::size_t rank : {0, 1, 8, 9, 20, 64}) {
    aclTensor* tensor = tensor_of(std::vector<int64_t>(rank, 1));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(get(aclGetViewShape, tensor), std::vector<int64_t>(rank, 1));
    EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>(rank, 1));
    EXPECT_EQ(aclDestroyTensor(tensor), 0);
  }
  aclTensor* scalar =
      aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  EXPECT_NE(scalar, nullptr);
  EXPECT_EQ(aclDestroyTensor(scalar), 0);
}

TEST(MetaTensor, IsNotMadeOfNullDimsOrTooMany) {
  const int64_t dims[70] = {};
  const auto make = [](const int64_t* view, uint64_t rank, const int64_t* storage,
                       uint64_t storage_rank) {
    return aclCreateTensor(view, rank, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage, storage_rank,
                           nullptr);
  };
  EXPECT_TRUE(fails(make(nullptr, 1, nullptr, 0), "aclCreateTensor", "viewDims"));
  EXPECT_TRUE(fails(make(dims, 1, nullptr, 1), "aclCreateTensor", "storageDims"));
  EXPECT_TRUE(fails(make(dims, 65, nullptr, 0), "aclCreateTensor", "viewDims"));
  EXPECT_TRUE(fails(make(dims, UINT64_MAX, nullptr, 0), "aclCreateTensor", "viewDims"));
  EXPECT_TRUE(fails(make(dims, 1, dims, UINT64_MAX), "aclCreateTensor", "storageDims"));
}

TEST(MetaTensor, OfImpossibleSizesCanBeMade) {
  for (const int64_t extent : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    aclTensor* tensor = tensor_of({extent, extent, extent});
    EXPECT_EQ(get(aclGetViewShape, tensor), std::vector<int64_t>(3, extent));
    EXPECT_EQ(aclDestroyTensor(tensor), 0);
  }
}

TEST(MetaTensor, InitKeepsWhatIsNull) {
  const int64_t shape[] = {2, 3}, strides[] = {30, 5}, storage[] = {100}, flat[] = {6},
                wide[] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2};
  double memory[2];
  aclTensor* tensor =
      aclCreateTensor(shape, 2, ACL_BF16, strides, 7, ACL_FORMAT_NCHW, storage, 1, memory);
  const auto init = [&](const int64_t* view, uint64_t rank, const int64_t* stride,
                        const int64_t* store, uint64_t store_rank, void* address) {
    return aclInitTensor(tensor, view, rank, ACL_FLOAT, stride, 3, ACL_FORMAT_ND, store, store_rank,
                         address);
  };
  EXPECT_EQ(init(nullptr, 0, nullptr, nullptr, 0, nullptr), 0);
  EXPECT_EQ(get(aclGetViewShape, tensor), std::vector<int64_t>({2, 3}));
  EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>({30, 5}));
  EXPECT_EQ(get(aclGetStorageShape, tensor), std::vector<int64_t>({100}));
  int64_t offset = 0;
  void* address = nullptr;
  auto dtype = ACL_DT_UNDEFINED;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(aclGetDataType(tensor, &dtype), 0);
  EXPECT_EQ(offset, 3);
  EXPECT_EQ(address, memory);
  EXPECT_EQ(dtype, ACL_FLOAT);
  EXPECT_EQ(init(flat, 1, nullptr, flat, 1, memory + 1), 0);
  EXPECT_EQ(get(aclGetViewShape, tensor), std::vector<int64_t>({6}));
  EXPECT_EQ(get(aclGetViewStrides, tensor), std::vector<int64_t>({1}));
  EXPECT_EQ(get(aclGetStorageShape, tensor), std::vector<int64_t>({6}));
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(address, memory + 1);
  EXPECT_EQ(init(wide, 10, wide, wide, 10, nullptr), 0);
  EXPECT_EQ(get(aclGetViewStrides, tensor).size(), 10u);
  EXPECT_EQ(init(nullptr, 0, nullptr, nullptr, 0, nullptr), 0);
  EXPECT_EQ(get(aclGetViewShape, tensor).size(), 10u);
  EXPECT_TRUE(fails_with(kInvalid, init(wide, UINT64_MAX, nullptr, nullptr, 0, nullptr),
                         "aclInitTensor", "viewDims"));
  EXPECT_TRUE(
      fails_with(kInvalid, init(nullptr, 9, wide, nullptr, 0, nullptr), "aclInitTensor",
                 "stride has 9 elements (viewDimsNum), but the shape that tensor keeps has 10"));
  EXPECT_EQ(get(aclGetViewShape, tensor).size(), 10u);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, NullDeadAndForeignTensorsAreRefusedEverywhere) {
  aclTensor* dead = tensor_of({2});
  aclIntArray* array = aclCreateIntArray(nullptr, 0);
  EXPECT_EQ(aclDestroyTensor(dead), 0);
  struct Case {
    aclTensor* tensor;
    int code;
  };
  for (const Case& c : {Case{nullptr, kNull},
                        {dead, kInvalid},
                        {sentinel<aclTensor>(), kInvalid},
                        {reinterpret_cast<aclTensor*>(array), kInvalid}}) {
    auto* dims = sentinel<int64_t>();
    uint64_t size = 4711;
    int64_t offset = 4711;
    auto format = ACL_FORMAT_NC;
    auto dtype = ACL_INT8;
    auto* address = sentinel<void>();
    const auto refused = [&](int code, const char* function) {
      EXPECT_TRUE(fails_with(c.code, code, function, "tensor"));
    };
    refused(aclGetViewShape(c.tensor, &dims, &size), "aclGetViewShape");
    refused(aclGetStorageShape(c.tensor, &dims, &size), "aclGetStorageShape");
    refused(aclGetViewStrides(c.tensor, &dims, &size), "aclGetViewStrides");
    refused(aclGetViewOffset(c.tensor, &offset), "aclGetViewOffset");
    refused(aclGetFormat(c.tensor, &format), "aclGetFormat");
    refused(aclGetDataType(c.tensor, &dtype), "aclGetDataType");
    refused(aclGetRawTensorAddr(c.tensor, &address), "aclGetRawTensorAddr");
    refused(aclSetRawTensorAddr(c.tensor, &offset), "aclSetRawTensorAddr");
    refused(aclInitTensor(c.tensor, nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0,
                          nullptr),
            "aclInitTensor");
    if (c.tensor != nullptr) refused(aclDestroyTensor(c.tensor), "aclDestroyTensor");
    EXPECT_EQ(dims, sentinel<int64_t>());
    EXPECT_EQ(size, 4711u);
    EXPECT_EQ(offset, 4711);
    EXPECT_EQ(format, ACL_FORMAT_NC);
    EXPECT_EQ(dtype, ACL_INT8);
    EXPECT_EQ(address, sentinel<void>());
  }
  EXPECT_EQ(aclDestroyIntArray(array), 0);
}

TEST(MetaTensor, NullOutParametersAreRefused) {
  aclTensor* tensor = tensor_of({2});
  int64_t* dims = nullptr;
  uint64_t size = 0;
  EXPECT_TRUE(
      fails_with(kNull, aclGetViewShape(tensor, nullptr, &size), "aclGetViewShape", "viewDims"));
  EXPECT_TRUE(
      fails_with(kNull, aclGetViewShape(tensor, &dims, nullptr), "aclGetViewShape", "viewDimsNum"));
  EXPECT_TRUE(fails_with(kNull, aclGetStorageShape(tensor, nullptr, &size), "aclGetStorageShape",
                         "storageDims"));
  EXPECT_TRUE(fails_with(kNull, aclGetViewStrides(tensor, &dims, nullptr), "aclGetViewStrides",
                         "stridesNum"));
  EXPECT_TRUE(fails_with(kNull, aclGetViewOffset(tensor, nullptr), "aclGetViewOffset", "offset"));
  EXPECT_TRUE(fails_with(kNull, aclGetFormat(tensor, nullptr), "aclGetFormat", "format"));
  EXPECT_TRUE(fails_with(kNull, aclGetDataType(tensor, nullptr), "aclGetDataType", "dataType"));
  EXPECT_TRUE(
      fails_with(kNull, aclGetRawTensorAddr(tensor, nullptr), "aclGetRawTensorAddr", "addr"));
  EXPECT_EQ(dims, nullptr);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaDestroy, NullIsFine) {
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  EXPECT_EQ(aclDestroyScalar(nullptr), 0);
  EXPECT_EQ(aclDestroyIntArray(nullptr), 0);
  EXPECT_EQ(aclDestroyFloatArray(nullptr), 0);
  EXPECT_EQ(aclDestroyBoolArray(nullptr), 0);
  EXPECT_EQ(aclDestroyTensorList(nullptr), 0);
  EXPECT_EQ(aclDestroyScalarList(nullptr), 0);
}

// create, size, destroy of one kind of array.
template <class A, class T>
void check_array(A* (*create)(const T*, uint64_t), aclnnStatus (*size_of)(const A*, uint64_t*),
                 aclnnStatus (*destroy)(const A*), const char* destroy_name) {
  const T values[3] = {};
  for (const uint64_t size : {0, 1, 3}) {
    A* array = create(size == 0 ? nullptr : values, size);
    ASSERT_NE(array, nullptr);
    uint64_t told = 99;
    EXPECT_EQ(size_of(array, &told), 0);
    EXPECT_EQ(told, size);
    EXPECT_EQ(size_of(array, nullptr), kNull);
    EXPECT_EQ(destroy(array), 0);
    EXPECT_TRUE(fails_with(kInvalid, destroy(array), destroy_name, "array"));
    EXPECT_EQ(size_of(array, &told), kInvalid);
  }
  EXPECT_EQ(size_of(nullptr, nullptr), kNull);
  EXPECT_EQ(destroy(sentinel<A>()), kInvalid);
  EXPECT_EQ(create(nullptr, 1), nullptr);
  EXPECT_EQ(create(values, UINT64_MAX), nullptr);
  EXPECT_EQ(create(values, UINT64_MAX / sizeof(T)), nullptr);
  EXPECT_EQ(create(values, uint64_t{1} << 48), nullptr);
}

TEST(MetaArray, IsMadeToldAndDestroyed) {
  check_array(aclCreateIntArray, aclGetIntArraySize, aclDestroyIntArray, "aclDestroyIntArray");
  check_array(aclCreateFloatArray, aclGetFloatArraySize, aclDestroyFloatArray,
              "aclDestroyFloatArray");
  check_array(aclCreateBoolArray, aclGetBoolArraySize, aclDestroyBoolArray, "aclDestroyBoolArray");
  check_array(aclCreateTensorList, aclGetTensorListSize, aclDestroyTensorList,
              "aclDestroyTensorList");
  check_array(aclCreateScalarList, aclGetScalarListSize, aclDestroyScalarList,
              "aclDestroyScalarList");
}

TEST(MetaList, DestroysItsElements) {
  double value = 1;
  aclTensor* tensors[] = {tensor_of({2}), nullptr, tensor_of({3})};
  aclScalar* scalars[] = {aclCreateScalar(&value, ACL_DOUBLE)};
  aclTensorList* tensor_list = aclCreateTensorList(tensors, 3);
  aclScalarList* scalar_list = aclCreateScalarList(scalars, 1);
  EXPECT_EQ(aclDestroyTensor(tensors[2]), 0);  // before the list: it is left alone then
  EXPECT_EQ(aclDestroyTensorList(tensor_list), 0);
  EXPECT_EQ(aclDestroyScalarList(scalar_list), 0);
  EXPECT_EQ(aclDestroyTensor(tensors[0]), kInvalid);
  EXPECT_EQ(aclDestroyScalar(scalars[0]), kInvalid);
}

TEST(MetaList, IsNotMadeOfDeadElements) {
  aclTensor* tensors[] = {tensor_of({2}), sentinel<aclTensor>()};
  aclScalar* scalars[] = {sentinel<aclScalar>()};
  EXPECT_TRUE(fails(aclCreateTensorList(tensors, 2), "aclCreateTensorList", "value"));
  EXPECT_TRUE(fails(aclCreateScalarList(scalars, 1), "aclCreateScalarList", "value"));
  EXPECT_EQ(aclDestroyTensor(tensors[0]), 0);
}

TEST(MetaScalar, IsMadeOfEveryTypeThatHasASize) {
  double value[2] = {1, 2};
  for (int dtype = -1; dtype <= 41; ++dtype) {
    if (aclDataTypeSize(static_cast<aclDataType>(dtype)) == 0) continue;
    aclScalar* scalar = aclCreateScalar(value, static_cast<aclDataType>(dtype));
    EXPECT_NE(scalar, nullptr) << dtype;
    EXPECT_EQ(aclDestroyScalar(scalar), 0);
    EXPECT_EQ(aclDestroyScalar(scalar), kInvalid);
  }
  EXPECT_TRUE(fails(aclCreateScalar(nullptr, ACL_FLOAT), "aclCreateScalar", "value"));
  EXPECT_TRUE(fails(aclCreateScalar(value, ACL_STRING), "aclCreateScalar", "dataType"));
  EXPECT_TRUE(fails(aclCreateScalar(value, ACL_DT_UNDEFINED), "aclCreateScalar", "dataType"));
}

TEST(MetaInit, SucceedsAlways) {
  EXPECT_EQ(aclnnInit(nullptr), 0);
  EXPECT_EQ(aclnnInit("/no/such/file"), 0);
  EXPECT_EQ(aclnnFinalize(), 0);
  EXPECT_EQ(aclnnFinalize(), 0);
}

}  // namespace
}  // namespace aclnn_test
