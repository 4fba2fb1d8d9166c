// The life of an executor, and its addresses.
#include <atomic>
#include <thread>

#include "api/aclnn/refusals.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

using SetAddress = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
using SetListAddress = aclnnStatus (*)(aclOpExecutor*, size_t, size_t, aclTensorList*, void*);

class Executor : public testing::Test {
 protected:
  Executor() : tensors_(specs_for(stats(), {4, 2})) { tensors_.fill(0, {0, 1, 2, 3, 4, 5, 6, 7}); }

  void run(Prepared& prepared) {
    EXPECT_EQ(prepared.run(session_.stream()), 0) << normgradGetLastError();
    EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
  }

  Session session_;
  Tensors tensors_;  // of aclnnBatchNormStats: input, mean, invstd
};

TEST_F(Executor, IsConsumedByPhaseTwo) {
  for (const Operator* op : operators()) {
    Tensors tensors(specs_for(*op, kShape));
    Prepared prepared(*op, tensors.data());
    run(prepared);
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, prepared.run(session_.stream()), op->name, "executor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, aclDestroyAclOpExecutor(prepared.executor),
                           "aclDestroyAclOpExecutor", "executor"));
  }
}

TEST_F(Executor, IsFreshEvenIfThereIsNothingToDo) {
  for (const Operator* op : operators()) {
    const bool channels_may_be_0 = op == &stats() || op == &gather_stats() || op == &batch_norm() ||
                                   op == &batch_norm_reduce() || op == &gather_sums();
    Tensors tensors(specs_for(*op, op->is_row_norm
                                       ? std::vector<int64_t>{0, 3, 4}
                                       : std::vector<int64_t>{2, channels_may_be_0 ? 0 : 3, 0}));
    Prepared prepared(*op, tensors.data());
    EXPECT_NE(prepared.executor, nullptr);
    EXPECT_EQ(prepared.workspace_size, 0u);
    run(prepared);
    EXPECT_EQ(prepared.run(session_.stream()), ACLNN_ERR_INNER);
  }
}

TEST_F(Executor, RunsAnyNumberOfTimesOnceRepeatable) {
  for (const Operator* op : operators()) {
    Tensors tensors(specs_for(*op, kShape));
    Prepared prepared(*op, tensors.data());
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
    for (int i = 0; i < 3; ++i) run(prepared);
    EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), 0);
    EXPECT_EQ(prepared.run(session_.stream()), ACLNN_ERR_INNER);
  }
}

TEST_F(Executor, OutlivesTheTensorsOfPhaseOne) {
  for (const Operator* op : operators()) {
    Tensors memory(specs_for(*op, kShape));
    auto views = std::make_unique<Tensors>(specs_for(*op, kShape));
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      EXPECT_EQ(aclSetRawTensorAddr((*views)[i], memory.values(i)), 0);
    }
    Prepared prepared(*op, views->data());
    views.reset();
    run(prepared);
    EXPECT_FALSE(memory.untouched());
  }
}

TEST_F(Executor, TensorsMayGoBeforeTheStreamIsSynchronized) {
  Tensors memory(specs_for(stats(), {4, 2}));
  memory.fill(0, {0, 1, 2, 3, 4, 5, 6, 7});
  {
    Tensors views(specs_for(stats(), {4, 2}));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(aclSetRawTensorAddr(views[i], memory.values(i)), 0);
    }
    Prepared prepared(stats(), views.data());
    if (prepared.workspace_size > 0) {
      EXPECT_EQ(stats().phase_two(memory.values(0) + 512, prepared.workspace_size,
                                  prepared.executor, session_.stream()),
                0);
    } else {
      EXPECT_EQ(prepared.run(session_.stream()), 0);
    }
  }
  EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
  EXPECT_EQ(memory.values(1)[0], 3);
  EXPECT_EQ(memory.values(1)[1], 4);
}

TEST_F(Executor, OfSeveralThreadsThatRunItOneWins) {
  for (int round = 0; round < 50; ++round) {
    Prepared prepared(stats(), tensors_.data());
    std::atomic<int> wins = 0;
    std::atomic<int> losses = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const int code = prepared.run(session_.stream());
        wins += code == 0;
        losses += code == ACLNN_ERR_INNER;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
    EXPECT_EQ(wins, 1);
    EXPECT_EQ(losses, 3);
  }
}

TEST_F(Executor, RepeatableOnesMayBeRunByAnotherThreadThanMadeThem) {
  Prepared prepared(stats(), tensors_.data());
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
  std::thread([&] {
    const Session session;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(prepared.run(session.stream()), 0);
    EXPECT_EQ(aclrtSynchronizeStream(session.stream()), 0);
  }).join();
  EXPECT_EQ(tensors_.values(1)[0], 3);
  EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), 0);
}

TEST_F(Executor, NullDeadAndForeign) {
  struct Function {
    const char* name;
    aclnnStatus (*call)(aclOpExecutor*);
  };
  for (const Function& f :
       {Function{"aclSetAclOpExecutorRepeatable", aclSetAclOpExecutorRepeatable},
        {"aclDestroyAclOpExecutor", aclDestroyAclOpExecutor}}) {
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER_NULLPTR, f.call(nullptr), f.name, "executor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, f.call(sentinel<aclOpExecutor>()), f.name, "executor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, f.call(reinterpret_cast<aclOpExecutor*>(tensors_[0])),
                           f.name, "executor"));
  }
}

// ---- addresses ----

struct Setter {
  const char* name;
  SetAddress set;
  std::size_t input, mean, end;  // indices of aclnnBatchNormStats's tensors; the first beyond all
};

const Setter kSetters[] = {
    {"aclSetInputTensorAddr", aclSetInputTensorAddr, 0, 9, 1},
    {"AclSetInputTensorAddr", AclSetInputTensorAddr, 0, 9, 1},
    {"aclSetOutputTensorAddr", aclSetOutputTensorAddr, 9, 0, 2},
    {"AclSetOutputTensorAddr", AclSetOutputTensorAddr, 9, 0, 2},
    {"aclSetTensorAddr", aclSetTensorAddr, 0, 1, 3},
    {"AclSetTensorAddr", AclSetTensorAddr, 0, 1, 3},
};

TEST_F(Executor, AddressesCanBeChangedBetweenRuns) {
  for (const Setter& setter : kSetters) {
    Tensors other(specs_for(stats(), {4, 2}));
    other.fill(0, {2, 3, 4, 5, 6, 7, 8, 9});
    Prepared prepared(stats(), tensors_.data());
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
    run(prepared);
    const bool input = setter.input == 0;
    const bool mean = setter.mean < 9;
    if (input) {
      EXPECT_EQ(setter.set(prepared.executor, setter.input, tensors_[0], other.values(0)), 0);
    }
    if (mean) {
      EXPECT_EQ(setter.set(prepared.executor, setter.mean, tensors_[1], other.values(1)), 0);
    }
    run(prepared);
    EXPECT_EQ((mean ? other : tensors_).values(1)[0], input ? 5 : 3) << setter.name;
    void* address = nullptr;  // the tensors know it too
    EXPECT_EQ(aclGetRawTensorAddr(tensors_[input ? 0 : 1], &address), 0);
    EXPECT_EQ(address, other.values(input ? 0 : 1));
    EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), 0);
    EXPECT_EQ(aclSetRawTensorAddr(tensors_[0], tensors_.values(0)), 0);
    EXPECT_EQ(aclSetRawTensorAddr(tensors_[1], tensors_.values(1)), 0);
  }
}

TEST_F(Executor, AChangedAddressKeepsTheOffset) {
  auto specs = specs_for(stats(), {4, 2});
  specs[1].offset = 3;
  specs[1].storage = {8};
  Tensors tensors(specs);
  Prepared prepared(stats(), tensors.data());
  EXPECT_EQ(aclSetOutputTensorAddr(prepared.executor, 0, tensors[1], tensors_.values(1)), 0);
  run(prepared);
  EXPECT_EQ(tensors_.values(1)[3], tensors.values(0)[0]);
}

TEST_F(Executor, WrongIndicesTensorsAndExecutors) {
  for (const Setter& setter : kSetters) {
    Prepared prepared(stats(), tensors_.data());
    aclOpExecutor* executor = prepared.executor;
    float elsewhere[64];
    for (const std::size_t index : {setter.end, setter.end + 1, SIZE_MAX}) {
      EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID,
                             setter.set(executor, index, tensors_[0], elsewhere), setter.name,
                             "index"));
    }
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER_NULLPTR, setter.set(executor, 0, nullptr, elsewhere),
                           setter.name, "tensor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER_NULLPTR, setter.set(nullptr, 0, tensors_[0], elsewhere),
                           setter.name, "executor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID,
                           setter.set(executor, 0, sentinel<aclTensor>(), elsewhere), setter.name,
                           "tensor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER,
                           setter.set(sentinel<aclOpExecutor>(), 0, tensors_[0], elsewhere),
                           setter.name, "executor"));
    void* address = nullptr;
    EXPECT_EQ(aclGetRawTensorAddr(tensors_[0], &address), 0);
    EXPECT_EQ(address, tensors_.values(0)) << "a refusal changed the tensor";
    run(prepared);
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, setter.set(executor, 0, tensors_[0], elsewhere),
                           setter.name, "executor"));
  }
}

TEST_F(Executor, AnIndexThatWasNullInPhaseOneIsRefused) {
  Tensors tensors(specs_for(batch_norm_backward(), kShape));
  Tensors other(specs_for(batch_norm_backward(), kShape));
  tensors[2] = nullptr;
  Prepared prepared(batch_norm_backward(), tensors.data());
  for (std::size_t i = 0; i < 10; ++i) {
    const int code = aclSetTensorAddr(prepared.executor, i, other[i], other.values(i));
    if (i == 2) {
      EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID, code, "aclSetTensorAddr", "weight"));
    } else {
      EXPECT_EQ(code, 0) << normgradGetLastError();
    }
  }
  run(prepared);
  EXPECT_TRUE(tensors.untouched());
  EXPECT_FALSE(other.untouched());
}

TEST_F(Executor, ANullAddressIsFoundByPhaseTwo) {
  Prepared prepared(stats(), tensors_.data());
  EXPECT_EQ(aclSetTensorAddr(prepared.executor, 2, tensors_[2], nullptr), 0);
  EXPECT_TRUE(
      fails_with(ACLNN_ERR_PARAM_NULLPTR, prepared.run(session_.stream()), stats().name, "invstd"));
}

TEST_F(Executor, NoOperatorTakesAList) {
  struct Function {
    const char* name;
    SetListAddress set;
  };
  aclTensor* element =
      aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  aclTensorList* list = aclCreateTensorList(&element, 1);
  for (const Function& f : {Function{"aclSetDynamicInputTensorAddr", aclSetDynamicInputTensorAddr},
                            {"aclSetDynamicOutputTensorAddr", aclSetDynamicOutputTensorAddr},
                            {"aclSetDynamicTensorAddr", aclSetDynamicTensorAddr},
                            {"AclSetDynamicInputTensorAddr", AclSetDynamicInputTensorAddr},
                            {"AclSetDynamicOutputTensorAddr", AclSetDynamicOutputTensorAddr},
                            {"AclSetDynamicTensorAddr", AclSetDynamicTensorAddr}}) {
    const Prepared prepared(stats(), tensors_.data());
    aclOpExecutor* executor = prepared.executor;
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER_NULLPTR, f.set(nullptr, 0, 0, list, nullptr), f.name,
                           "executor"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_INNER_NULLPTR, f.set(executor, 0, 0, nullptr, nullptr), f.name,
                           "tensors"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID,
                           f.set(executor, 0, 0, sentinel<aclTensorList>(), nullptr), f.name,
                           "tensors"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID, f.set(executor, 0, 1, list, nullptr), f.name,
                           "relativeIndex"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID, f.set(executor, 0, 0, list, nullptr), f.name,
                           "irIndex"));
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
    EXPECT_TRUE(
        fails_with(ACLNN_ERR_INNER, f.set(executor, 0, 0, list, nullptr), f.name, "executor"));
  }
  EXPECT_EQ(aclDestroyTensorList(list), 0);
}

}  // namespace
}  // namespace aclnn_test
