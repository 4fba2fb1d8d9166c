// The calls of libnnopbase.so and libopapi_nn.so.
#include <aclnnop/aclnn_ops_nn.h>

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

// Phase 1 of every operator.
int batch_norm(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormGetWorkspaceSize(w.x, w.channel[0], w.channel[1], w.channel[2], w.channel[3],
                                        true, 0.1, 1e-5, w.dx, w.channel[4], w.channel[5], size,
                                        made);
}
int backward(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormBackwardGetWorkspaceSize(w.dy, w.x, w.channel[0], w.channel[1], w.channel[2],
                                                w.channel[3], w.channel[4], true, 1e-5, w.mask,
                                                w.dx, w.channel[5], w.channel[6], size, made);
}
int fast_backward(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnFastBatchNormBackwardGetWorkspaceSize(
      w.dy, w.x, w.channel[0], w.channel[1], w.channel[2], w.channel[3], w.channel[4], true, 1e-5,
      w.mask, 0, w.dx, w.channel[5], w.channel[6], size, made);
}
int reduce(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormReduceBackwardGetWorkspaceSize(
      w.dy, w.x, w.channel[0], w.channel[1], w.channel[2], true, true, true, w.channel[3],
      w.channel[4], w.channel[5], w.channel[6], size, made);
}
int elemt(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormElemtGetWorkspaceSize(w.x, w.channel[0], w.channel[1], w.channel[2],
                                             w.channel[3], 1e-5, w.dx, size, made);
}
int elemt_backward(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormElemtBackwardGetWorkspaceSize(w.dy, w.x, w.channel[0], w.channel[1],
                                                     w.channel[2], w.channel[3], w.channel[4],
                                                     w.counts, w.dx, size, made);
}
int stats(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormStatsGetWorkspaceSize(w.x, 1e-5, w.channel[0], w.channel[1], size, made);
}
int gather(W w, std::uint64_t* size, aclOpExecutor** made) {
  return aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
      w.x, w.rows[0], w.rows[1], w.channel[0], w.channel[1], 0.1, 1e-5, w.counts, w.channel[2],
      w.channel[3], size, made);
}

template <class One>
void plans(W w, One&& one) {
  std::uint64_t size = 0;
  w.makes<aclOpExecutor>([&](auto made) { return one(w, &size, made); }, aclDestroyAclOpExecutor);
}

// Phase 2 destroys the executor, whatever it answers.
template <class One, class Two>
void runs(W w, One&& one, Two&& two) {
  std::uint64_t size = 0;
  aclOpExecutor* made = nullptr;
  w.must(one(w, &size, &made));
  w.may_fail([&] { return two(w.workspace, size, made, w.stream); });
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
  return {
      {"aclnnBatchNormGetWorkspaceSize", [](W w) { plans(w, batch_norm); }},
      {"aclnnBatchNorm", [](W w) { runs(w, batch_norm, aclnnBatchNorm); }},
      {"aclnnBatchNormBackwardGetWorkspaceSize", [](W w) { plans(w, backward); }},
      {"aclnnBatchNormBackward", [](W w) { runs(w, backward, aclnnBatchNormBackward); }},
      {"aclnnFastBatchNormBackwardGetWorkspaceSize", [](W w) { plans(w, fast_backward); }},
      {"aclnnFastBatchNormBackward",
       [](W w) { runs(w, fast_backward, aclnnFastBatchNormBackward); }},
      {"aclnnBatchNormReduceBackwardGetWorkspaceSize", [](W w) { plans(w, reduce); }},
      {"aclnnBatchNormReduceBackward", [](W w) { runs(w, reduce, aclnnBatchNormReduceBackward); }},
      {"aclnnBatchNormElemtGetWorkspaceSize", [](W w) { plans(w, elemt); }},
      {"aclnnBatchNormElemt", [](W w) { runs(w, elemt, aclnnBatchNormElemt); }},
      {"aclnnBatchNormElemtBackwardGetWorkspaceSize", [](W w) { plans(w, elemt_backward); }},
      {"aclnnBatchNormElemtBackward",
       [](W w) { runs(w, elemt_backward, aclnnBatchNormElemtBackward); }},
      {"aclnnBatchNormStatsGetWorkspaceSize", [](W w) { plans(w, stats); }},
      {"aclnnBatchNormStats", [](W w) { runs(w, stats, aclnnBatchNormStats); }},
      {"aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize", [](W w) { plans(w, gather); }},
      {"aclnnBatchNormGatherStatsWithCounts",
       [](W w) { runs(w, gather, aclnnBatchNormGatherStatsWithCounts); }},
  };
}

}  // namespace calls
