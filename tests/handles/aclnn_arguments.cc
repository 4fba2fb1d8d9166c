// Handles that libnnopbase.so and libopapi_nn.so are given.
#include <gtest/gtest.h>

#include "api/aclnn/operators.h"
#include "handles/arguments.h"

namespace handles {
namespace {

constexpr int kNull = 161001, kInvalid = 161002, kInner = 561000, kInnerNull = 561103,
              kDeadStream = ACL_ERROR_RT_INVALID_HANDLE;
const std::set<Kind> kExecutors = {Kind::kExecutor, Kind::kRepeatable};

template <class Handle, class Function>
Argument argument(const char* function, const char* name, Kind kind, int null, Function&& call) {
  return {function, name, {kind},
          kInvalid, null, [call](Zoo& z, void* h) { return call(z, as<Handle>(h)); }};
}

// Destroying null does nothing.
template <class T>
Argument destroyed(const char* function, const char* name, Kind kind,
                   aclnnStatus (*destroy)(const T*)) {
  return argument<T>(function, name, kind, 0, [destroy](Zoo&, T* h) { return destroy(h); });
}

template <class T>
Argument asked(const char* function, const char* name, Kind kind,
               aclnnStatus (*ask)(const T*, std::uint64_t*)) {
  return argument<T>(function, name, kind, kNull, [ask](Zoo&, T* h) {
    std::uint64_t size = 0;
    return ask(h, &size);
  });
}

std::vector<Argument> of_arrays() {
  return {
      destroyed("aclDestroyTensor", "tensor", Kind::kTensor, aclDestroyTensor),
      destroyed("aclDestroyScalar", "scalar", Kind::kScalar, aclDestroyScalar),
      destroyed("aclDestroyIntArray", "array", Kind::kInts, aclDestroyIntArray),
      destroyed("aclDestroyFloatArray", "array", Kind::kFloats, aclDestroyFloatArray),
      destroyed("aclDestroyBoolArray", "array", Kind::kBools, aclDestroyBoolArray),
      destroyed("aclDestroyTensorList", "array", Kind::kTensorList, aclDestroyTensorList),
      destroyed("aclDestroyScalarList", "array", Kind::kScalarList, aclDestroyScalarList),
      asked("aclGetIntArraySize", "array", Kind::kInts, aclGetIntArraySize),
      asked("aclGetFloatArraySize", "array", Kind::kFloats, aclGetFloatArraySize),
      asked("aclGetBoolArraySize", "array", Kind::kBools, aclGetBoolArraySize),
      asked("aclGetTensorListSize", "tensorList", Kind::kTensorList, aclGetTensorListSize),
      asked("aclGetScalarListSize", "scalarList", Kind::kScalarList, aclGetScalarListSize),
  };
}

using GetExtents = aclnnStatus (*)(const aclTensor*, std::int64_t**, std::uint64_t*);

Argument of_extents(const char* function, GetExtents get) {
  return argument<aclTensor>(function, "tensor", Kind::kTensor, kNull, [get](Zoo&, aclTensor* h) {
    std::int64_t* extents = nullptr;
    std::uint64_t count = 0;
    const int code = get(h, &extents, &count);
    delete[] extents;
    return code;
  });
}

template <class Value>
Argument of_value(const char* function, aclnnStatus (*get)(const aclTensor*, Value*)) {
  return argument<aclTensor>(function, "tensor", Kind::kTensor, kNull, [get](Zoo&, aclTensor* h) {
    Value value{};
    return get(h, &value);
  });
}

// A null element is fine, in a list of its own that goes at once.
template <class T, class List>
int list_of(void* handle, List* (*create)(const T* const*, std::uint64_t),
            aclnnStatus (*destroy)(const List*)) {
  const T* const element = as<T>(handle);
  List* const list = create(&element, 1);
  if (list == nullptr) return kInvalid;  // which has no code to answer with
  return destroy(list);
}

std::vector<Argument> of_tensors() {
  return {
      of_extents("aclGetViewShape", aclGetViewShape),
      of_extents("aclGetStorageShape", aclGetStorageShape),
      of_extents("aclGetViewStrides", aclGetViewStrides),
      of_value("aclGetViewOffset", aclGetViewOffset),
      of_value("aclGetFormat", aclGetFormat),
      of_value("aclGetDataType", aclGetDataType),
      of_value("aclGetRawTensorAddr", aclGetRawTensorAddr),
      argument<aclTensor>("aclSetRawTensorAddr", "tensor", Kind::kTensor, kNull,
                          [](Zoo&, aclTensor* h) { return aclSetRawTensorAddr(h, nullptr); }),
      argument<aclTensor>("aclInitTensor", "tensor", Kind::kTensor, kNull,
                          [](Zoo&, aclTensor* h) {
                            return aclInitTensor(h, nullptr, 0, ACL_FLOAT, nullptr, 0,
                                                 ACL_FORMAT_ND, nullptr, 0, nullptr);
                          }),
      {"aclCreateTensorList",
       "value",
       {Kind::kTensor},
       kInvalid,
       0,
       [](Zoo&, void* h) { return list_of(h, aclCreateTensorList, aclDestroyTensorList); }},
      {"aclCreateScalarList",
       "value",
       {Kind::kScalar},
       kInvalid,
       0,
       [](Zoo&, void* h) { return list_of(h, aclCreateScalarList, aclDestroyScalarList); }},
  };
}

using SetAddress = aclnnStatus (*)(aclOpExecutor*, const std::size_t, aclTensor*, void*);
using SetElement = aclnnStatus (*)(aclOpExecutor*, std::size_t, const std::size_t, aclTensorList*,
                                   void*);

std::vector<Argument> of_executors() {
  std::vector<Argument> all = {
      {"aclSetAclOpExecutorRepeatable", "executor", kExecutors, kInner, kInnerNull,
       [](Zoo&, void* h) { return aclSetAclOpExecutorRepeatable(as<aclOpExecutor>(h)); }},
      {"aclDestroyAclOpExecutor", "executor", kExecutors, kInner, kInnerNull,
       [](Zoo&, void* h) { return aclDestroyAclOpExecutor(as<aclOpExecutor>(h)); }},
  };
  const std::pair<const char*, SetAddress> tensors[] = {
      {"aclSetInputTensorAddr", aclSetInputTensorAddr},
      {"aclSetOutputTensorAddr", aclSetOutputTensorAddr},
      {"aclSetTensorAddr", aclSetTensorAddr},
      {"AclSetInputTensorAddr", AclSetInputTensorAddr},
      {"AclSetOutputTensorAddr", AclSetOutputTensorAddr},
      {"AclSetTensorAddr", AclSetTensorAddr}};
  for (const auto& [function, set] : tensors) {
    all.push_back(
        {function, "executor", kExecutors, kInner, kInnerNull, [set = set](Zoo& z, void* h) {
           return set(as<aclOpExecutor>(h), 0, z.world.tensor, z.world.values[0]);
         }});
    all.push_back(
        {function, "tensor", {Kind::kTensor}, kInvalid, kInnerNull, [set = set](Zoo& z, void* h) {
           return set(z.executor, 0, as<aclTensor>(h), z.world.values[0]);
         }});
  }
  const std::pair<const char*, SetElement> lists[] = {
      {"aclSetDynamicInputTensorAddr", aclSetDynamicInputTensorAddr},
      {"aclSetDynamicOutputTensorAddr", aclSetDynamicOutputTensorAddr},
      {"aclSetDynamicTensorAddr", aclSetDynamicTensorAddr},
      {"AclSetDynamicInputTensorAddr", AclSetDynamicInputTensorAddr},
      {"AclSetDynamicOutputTensorAddr", AclSetDynamicOutputTensorAddr},
      {"AclSetDynamicTensorAddr", AclSetDynamicTensorAddr}};
  for (const auto& [function, set] : lists) {
    all.push_back(
        {function, "executor", kExecutors, kInner, kInnerNull, [set = set](Zoo& z, void* h) {
           return set(as<aclOpExecutor>(h), 0, 0, z.tensors, nullptr);
         }});
    all.push_back({function,
                   "tensors",
                   {Kind::kTensorList},
                   kInvalid,
                   kInnerNull,
                   [set = set](Zoo& z, void* h) {
                     return set(z.executor, 0, 0, as<aclTensorList>(h), nullptr);
                   }});
  }
  return all;
}

int first_phase(const aclnn_test::Operator& op, const std::vector<aclTensor*>& tensors,
                const aclBoolArray* mask, aclOpExecutor** made) {
  aclnn_test::Attributes attributes;
  attributes.mask = mask;
  attributes.normalized = aclnn_test::row_of_four();
  std::uint64_t size = 0;
  const int code = op.phase_one(tensors.data(), attributes, &size, made);
  EXPECT_LE(size, sizeof(calls::World::workspace));
  return code;
}

int first_phase(const aclnn_test::Operator& op, const std::vector<aclTensor*>& tensors,
                const aclBoolArray* mask) {
  aclOpExecutor* made = nullptr;
  const int code = first_phase(op, tensors, mask, &made);
  if (made != nullptr) aclDestroyAclOpExecutor(made);
  return code;
}

std::vector<aclTensor*> right_tensors(const aclnn_test::Operator& op, Zoo& z) {
  auto& right = z.kept<aclnn_test::Tensors>(&op, [&] {
    return std::make_shared<aclnn_test::Tensors>(aclnn_test::specs_for(op, {2, 3, 4}));
  });
  return {right.data(), right.data() + op.arguments.size()};
}

// Right tensors for the operator, all but one.
int first_phase_with(const aclnn_test::Operator& op, Zoo& z, std::size_t i, void* handle) {
  std::vector<aclTensor*> tensors = right_tensors(op, z);
  tensors[i] = as<aclTensor>(handle);
  return first_phase(op, tensors, z.world.mask);
}

void add_operator(const aclnn_test::Operator& op, std::vector<Argument>* all) {
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    const int code = op.arguments[i].output ? op.null_output_code : kNull;
    const std::optional<int> null =
        op.arguments[i].optional ? std::nullopt : std::optional<int>(code);
    all->push_back({op.phase_one_name(),
                    op.arguments[i].name,
                    {Kind::kTensor},
                    kInvalid,
                    null,
                    [&op, i](Zoo& z, void* h) { return first_phase_with(op, z, i, h); }});
  }
  // An executor of another operator is alive, and refused with the same code.
  const std::set<Kind> kinds = op.name == "aclnnBatchNormStats" ? kExecutors : std::set<Kind>{};
  all->push_back({op.name, "executor", kinds, kInner, kNull, [&op](Zoo& z, void* h) {
                    return op.phase_two(z.world.workspace, sizeof(z.world.workspace),
                                        as<aclOpExecutor>(h), z.world.stream);
                  }});
  all->push_back({op.name, "stream", {Kind::kStream}, kDeadStream, 0, [&op](Zoo& z, void* h) {
                    aclOpExecutor* made = nullptr;
                    EXPECT_EQ(first_phase(op, right_tensors(op, z), z.world.mask, &made), 0);
                    return op.phase_two(z.world.workspace, sizeof(z.world.workspace), made, h);
                  }});
}

}  // namespace

std::vector<Argument> aclnn_arguments() {
  std::vector<Argument> all;
  for (const auto& some : {of_arrays(), of_tensors(), of_executors()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  for (const aclnn_test::Operator* op : aclnn_test::operators()) add_operator(*op, &all);
  for (const aclnn_test::Operator* op :
       {&aclnn_test::batch_norm_backward(), &aclnn_test::fast_batch_norm_backward(),
        &aclnn_test::row_norm("aclnnLayerNormBackward"), &aclnn_test::group_norm_backward()}) {
    all.push_back({op->phase_one_name(),
                   "outputMask",
                   {Kind::kBools},
                   kInvalid,
                   op->null_output_code,
                   [op](Zoo& z, void* h) {
                     return first_phase(*op, right_tensors(*op, z), as<aclBoolArray>(h));
                   }});
  }
  for (const aclnn_test::Operator* op : aclnn_test::row_norms()) {
    if (!op->takes_normalized_shape) continue;
    all.push_back({op->phase_one_name(),
                   "normalizedShape",
                   {Kind::kInts},
                   kInvalid,
                   kNull,
                   [op](Zoo& z, void* h) {
                     aclnn_test::Attributes attributes;
                     attributes.mask = z.world.mask;
                     attributes.normalized = as<aclIntArray>(h);
                     std::uint64_t size = 0;
                     aclOpExecutor* made = nullptr;
                     const int code =
                         op->phase_one(right_tensors(*op, z).data(), attributes, &size, &made);
                     if (made != nullptr) aclDestroyAclOpExecutor(made);
                     return code;
                   }});
  }
  return all;
}

}  // namespace handles
