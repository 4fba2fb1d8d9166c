// The calls of libnnopbase.so and libopapi_nn.so.
#include "api/aclnn/operator_table.h"
#include "calls/world.h"

namespace calls {
namespace {

using W = World&;

constexpr std::int64_t kShape[] = {2, 3, 4};

aclTensor* new_tensor(W w) {
  return aclCreateTensor(kShape, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kShape, 3, w.values[0]);
}

aclScalar* new_scalar() {
  double value = 1;
  return aclCreateScalar(&value, ACL_DOUBLE);
}

// A list owns its elements; one that is not made does not.
aclTensorList* new_tensor_list(W w) {
  const aclTensor* const elements[] = {new_tensor(w), nullptr};
  return aclCreateTensorList(elements, 2);
}
aclScalarList* new_scalar_list() {
  const aclScalar* const elements[] = {new_scalar()};
  return aclCreateScalarList(elements, 1);
}

template <class Value, class Ask>
void asks(W w, Ask&& ask) {
  Value value{};
  w.succeeds([&] { return ask(&value); });
}

template <class Make, class Destroy>
void destroys(W w, Make&& make, Destroy&& destroy) {
  auto* const made = make();
  w.succeeds([&] { return destroy(made); });
}

std::vector<Entry> of_creation() {
  return {
      {"aclnnInit", [](W w) { w.succeeds([] { return aclnnInit(nullptr); }); }},
      {"aclnnFinalize", [](W w) { w.succeeds([] { return aclnnFinalize(); }); }},
      {"aclCreateTensor", [](W w) { w.returns([&] { return new_tensor(w); }, aclDestroyTensor); }},
      {"aclCreateScalar", [](W w) { w.returns(new_scalar, aclDestroyScalar); }},
      {"aclCreateIntArray",
       [](W w) { w.returns([] { return aclCreateIntArray(kShape, 3); }, aclDestroyIntArray); }},
      {"aclCreateFloatArray",
       [](W w) {
         w.returns([&] { return aclCreateFloatArray(w.values[0], 3); }, aclDestroyFloatArray);
       }},
      {"aclCreateBoolArray",
       [](W w) {
         constexpr bool kBits[] = {true, false};
         w.returns([&] { return aclCreateBoolArray(kBits, 2); }, aclDestroyBoolArray);
       }},
      {"aclCreateTensorList",
       [](W w) {
         const aclTensor* const elements[] = {new_tensor(w)};
         bool owned = false;
         w.returns([&] { return aclCreateTensorList(elements, 1); },
                   [&](const aclTensorList* list) {
                     owned = true;
                     return aclDestroyTensorList(list);
                   });
         if (!owned) w.must(aclDestroyTensor(elements[0]));
       }},
      {"aclCreateScalarList",
       [](W w) {
         const aclScalar* const elements[] = {new_scalar()};
         bool owned = false;
         w.returns([&] { return aclCreateScalarList(elements, 1); },
                   [&](const aclScalarList* list) {
                     owned = true;
                     return aclDestroyScalarList(list);
                   });
         if (!owned) w.must(aclDestroyScalar(elements[0]));
       }},
  };
}

std::vector<Entry> of_destruction() {
  return {
      {"aclDestroyTensor",
       [](W w) {
         destroys(
             w, [&] { return new_tensor(w); }, aclDestroyTensor);
       }},
      {"aclDestroyScalar", [](W w) { destroys(w, new_scalar, aclDestroyScalar); }},
      {"aclDestroyIntArray",
       [](W w) {
         destroys(
             w, [] { return aclCreateIntArray(kShape, 3); }, aclDestroyIntArray);
       }},
      {"aclDestroyFloatArray",
       [](W w) {
         destroys(
             w, [&] { return aclCreateFloatArray(w.values[0], 3); }, aclDestroyFloatArray);
       }},
      {"aclDestroyBoolArray",
       [](W w) {
         constexpr bool kBits[] = {true, false};
         destroys(
             w, [&] { return aclCreateBoolArray(kBits, 2); }, aclDestroyBoolArray);
       }},
      {"aclDestroyTensorList",
       [](W w) {
         destroys(
             w, [&] { return new_tensor_list(w); }, aclDestroyTensorList);
       }},
      {"aclDestroyScalarList", [](W w) { destroys(w, new_scalar_list, aclDestroyScalarList); }},
      {"aclDestroyAclOpExecutor",
       [](W w) {
         std::uint64_t size = 0;
         destroys(
             w, [&] { return w.executor(&size); }, aclDestroyAclOpExecutor);
       }},
  };
}

template <class Get>
void gets_extents(W w, Get&& get) {
  std::int64_t* extents = nullptr;
  std::uint64_t count = 0;
  w.may_fail([&] { return get(w.tensor, &extents, &count); });
  delete[] extents;
}

std::vector<Entry> of_questions() {
  return {
      {"aclGetViewShape", [](W w) { gets_extents(w, aclGetViewShape); }},
      {"aclGetStorageShape", [](W w) { gets_extents(w, aclGetStorageShape); }},
      {"aclGetViewStrides", [](W w) { gets_extents(w, aclGetViewStrides); }},
      {"aclGetViewOffset",
       [](W w) { asks<std::int64_t>(w, [&](auto v) { return aclGetViewOffset(w.tensor, v); }); }},
      {"aclGetFormat",
       [](W w) { asks<aclFormat>(w, [&](auto v) { return aclGetFormat(w.tensor, v); }); }},
      {"aclGetDataType",
       [](W w) { asks<aclDataType>(w, [&](auto v) { return aclGetDataType(w.tensor, v); }); }},
      {"aclGetRawTensorAddr",
       [](W w) { asks<void*>(w, [&](auto v) { return aclGetRawTensorAddr(w.tensor, v); }); }},
      {"aclGetIntArraySize",
       [](W w) { asks<std::uint64_t>(w, [&](auto v) { return aclGetIntArraySize(w.ints, v); }); }},
      {"aclGetFloatArraySize",
       [](W w) {
         asks<std::uint64_t>(w, [&](auto v) { return aclGetFloatArraySize(w.floats, v); });
       }},
      {"aclGetBoolArraySize",
       [](W w) { asks<std::uint64_t>(w, [&](auto v) { return aclGetBoolArraySize(w.mask, v); }); }},
      {"aclGetTensorListSize",
       [](W w) {
         aclTensorList* const list = new_tensor_list(w);
         asks<std::uint64_t>(w, [&](auto v) { return aclGetTensorListSize(list, v); });
         w.must(aclDestroyTensorList(list));
       }},
      {"aclGetScalarListSize",
       [](W w) {
         aclScalarList* const list = new_scalar_list();
         asks<std::uint64_t>(w, [&](auto v) { return aclGetScalarListSize(list, v); });
         w.must(aclDestroyScalarList(list));
       }},
  };
}

template <class Set>
void sets_address(W w, Set&& set) {
  std::uint64_t size = 0;
  aclOpExecutor* const executor = w.executor(&size);
  w.succeeds([&] { return set(executor, 0, w.x, w.values[2]); });
  w.must(aclDestroyAclOpExecutor(executor));
}

// No operator takes a list, which is the answer to every valid call.
template <class Set>
void sets_element(W w, Set&& set) {
  std::uint64_t size = 0;
  aclOpExecutor* const executor = w.executor(&size);
  aclTensorList* const list = new_tensor_list(w);
  w.answers(161002, [&] { return set(executor, 0, 0, list, w.values[0]); });
  w.must(aclDestroyTensorList(list));
  w.must(aclDestroyAclOpExecutor(executor));
}

std::vector<Entry> of_changes() {
  return {
      {"aclInitTensor",
       [](W w) {
         // Of another rank, so that there is something to make; then as it was.
         const std::int64_t shape[] = {24};
         w.may_fail([&] {
           return aclInitTensor(w.tensor, shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1,
                                w.values[0]);
         });
         w.must(aclInitTensor(w.tensor, kShape, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kShape, 3,
                              w.values[0]));
       }},
      {"aclSetRawTensorAddr",
       [](W w) { w.succeeds([&] { return aclSetRawTensorAddr(w.tensor, w.values[0]); }); }},
      {"aclSetAclOpExecutorRepeatable",
       [](W w) {
         std::uint64_t size = 0;
         aclOpExecutor* const executor = w.executor(&size);
         w.may_fail([&] { return aclSetAclOpExecutorRepeatable(executor); });
         w.must(aclDestroyAclOpExecutor(executor));  // a failure left it alive
       }},
      {"aclSetInputTensorAddr", [](W w) { sets_address(w, aclSetInputTensorAddr); }},
      {"aclSetOutputTensorAddr", [](W w) { sets_address(w, aclSetOutputTensorAddr); }},
      {"aclSetTensorAddr", [](W w) { sets_address(w, aclSetTensorAddr); }},
      {"AclSetInputTensorAddr", [](W w) { sets_address(w, AclSetInputTensorAddr); }},
      {"AclSetOutputTensorAddr", [](W w) { sets_address(w, AclSetOutputTensorAddr); }},
      {"AclSetTensorAddr", [](W w) { sets_address(w, AclSetTensorAddr); }},
      {"aclSetDynamicInputTensorAddr", [](W w) { sets_element(w, aclSetDynamicInputTensorAddr); }},
      {"aclSetDynamicOutputTensorAddr",
       [](W w) { sets_element(w, aclSetDynamicOutputTensorAddr); }},
      {"aclSetDynamicTensorAddr", [](W w) { sets_element(w, aclSetDynamicTensorAddr); }},
      {"AclSetDynamicInputTensorAddr", [](W w) { sets_element(w, AclSetDynamicInputTensorAddr); }},
      {"AclSetDynamicOutputTensorAddr",
       [](W w) { sets_element(w, AclSetDynamicOutputTensorAddr); }},
      {"AclSetDynamicTensorAddr", [](W w) { sets_element(w, AclSetDynamicTensorAddr); }},
  };
}

// The tensors of an operator, in memory of their own; values[i] of the world.
class OperatorTensors {
 public:
  OperatorTensors(W w, const aclnn_test::Operator& op) : world_(w) {
    for (const aclnn_test::Argument& argument : op.arguments) {
      const std::vector<std::int64_t> shape = shape_of(argument.form);
      void* const address = w.values[tensors_.size()];
      tensors_.push_back(aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0,
                                         ACL_FORMAT_ND, shape.data(), shape.size(), address));
    }
  }
  ~OperatorTensors() {
    for (const aclTensor* tensor : tensors_) world_.must(aclDestroyTensor(tensor));
  }
  OperatorTensors(const OperatorTensors&) = delete;
  OperatorTensors& operator=(const OperatorTensors&) = delete;
  aclTensor* const* data() const { return tensors_.data(); }

 private:
  static std::vector<std::int64_t> shape_of(aclnn_test::Form form) {
    switch (form) {
      case aclnn_test::Form::kData:
        return {2, 3, 4};
      case aclnn_test::Form::kChannels:
        return {3};
      case aclnn_test::Form::kRow:
        return {4};
      case aclnn_test::Form::kDevices:
        return {2};
      case aclnn_test::Form::kSegments:
        return {2, 4};
      case aclnn_test::Form::kGroups:
      case aclnn_test::Form::kPerRow:
      case aclnn_test::Form::kTable:
        break;
    }
    return {2, 3};
  }
  W world_;
  std::vector<aclTensor*> tensors_;
};

int phase_one(const aclnn_test::Operator& op, const OperatorTensors& tensors, std::uint64_t* size,
              aclOpExecutor** made) {
  aclnn_test::Attributes attributes;
  attributes.mask = aclnn_test::all_wanted();
  attributes.normalized = aclnn_test::row_of_four();
  return op.phase_one(tensors.data(), attributes, size, made);
}

void plans(W w, const aclnn_test::Operator& op) {
  const OperatorTensors tensors(w, op);
  std::uint64_t size = 0;
  w.makes<aclOpExecutor>([&](auto made) { return phase_one(op, tensors, &size, made); },
                         aclDestroyAclOpExecutor);
}

// Phase 2 destroys the executor, whatever it answers.
void runs(W w, const aclnn_test::Operator& op) {
  const OperatorTensors tensors(w, op);
  std::uint64_t size = 0;
  aclOpExecutor* made = nullptr;
  w.must(phase_one(op, tensors, &size, &made));
  w.may_fail([&] { return op.phase_two(w.workspace, size, made, w.stream); });
  w.settle();
}

}  // namespace

std::vector<Entry> nnopbase_calls() {
  std::vector<Entry> all;
  for (const auto& some : {of_creation(), of_destruction(), of_questions(), of_changes()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<Entry> opapi_nn_calls() {
  aclnn_test::all_wanted(), aclnn_test::row_of_four();  // made now
  std::vector<Entry> all;
  for (const aclnn_test::Operator* op : aclnn_test::operators()) {
    all.push_back({op->phase_one_name(), [op](W w) { plans(w, *op); }});
    all.push_back({op->name, [op](W w) { runs(w, *op); }});
  }
  return all;
}

}  // namespace calls
