// Phase 1 of every operator: every way to get it wrong, and what may be left out.
#include <iostream>

#include "api/aclnn/refusals.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

TEST(PhaseOne, EveryRefusalHasItsCodeAndASentenceAndWritesNothing) {
  std::size_t count = 0;
  for (const Operator* op : operators()) {
    for (const auto& table : {refusals_of_tensors(*op), refusals_of(*op)}) {
      for (const Refusal& refusal : table) expect_refused(*op, refusal);
      count += table.size();
    }
  }
  std::cout << count << " refusals\n";
  RecordProperty("refusals", static_cast<int>(count));
  EXPECT_GE(count, 2500u);
}

TEST(PhaseOne, DeadTensorsAreRefused) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      const Call call = valid_call(*op);
      Tensors tensors(call.specs);
      aclTensor* dead =
          aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
      EXPECT_EQ(aclDestroyTensor(dead), 0);
      tensors[i] = dead;
      auto* executor = sentinel<aclOpExecutor>();
      uint64_t size = 0;
      EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_INVALID,
                             op->phase_one(tensors.data(), call.attributes, &size, &executor),
                             op->phase_one_name(), op->arguments[i].name));
      EXPECT_EQ(executor, sentinel<aclOpExecutor>());
    }
  }
}

TEST(PhaseOne, NullLastPointersAreFoundFirst) {
  for (const Operator* op : operators()) {
    const std::vector<aclTensor*> nulls(op->arguments.size(), nullptr);
    auto* executor = sentinel<aclOpExecutor>();
    uint64_t size = 4711;
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_NULLPTR,
                           op->phase_one(nulls.data(), {}, nullptr, &executor),
                           op->phase_one_name(), "workspaceSize"));
    EXPECT_TRUE(fails_with(ACLNN_ERR_PARAM_NULLPTR, op->phase_one(nulls.data(), {}, &size, nullptr),
                           op->phase_one_name(), "executor"));
    EXPECT_EQ(executor, sentinel<aclOpExecutor>());
    EXPECT_EQ(size, 4711u);
  }
}

TEST(PhaseOne, TheThreeTypesAndRanksTwoToEightAreTaken) {
  for (const Operator* op : operators()) {
    for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
      for (std::size_t rank = 2; rank <= 8; ++rank) {
        Call call = valid_call(*op);
        std::vector<int64_t> shape(rank, 2);
        if (op->is_row_norm) shape.back() = 4;
        call.attributes = attributes_for(shape);
        call.specs = specs_for(*op, shape, dtype, rank == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND);
        EXPECT_EQ(code_of(*op, call), 0) << op->name << ": " << normgradGetLastError();
      }
    }
  }
}

TEST(PhaseOne, OptionalTensorsMayBeNullOneByOneAndTogether) {
  for (const Operator* op : operators()) {
    for (const bool training : {true, false}) {
      Call none = valid_call(*op);
      none.attributes.training = training;
      for (std::size_t i = 0; i < op->arguments.size(); ++i) {
        if (!op->arguments[i].optional) continue;
        Call one = valid_call(*op);
        one.attributes.training = training;
        one.replaced[i] = none.replaced[i] = nullptr;
        EXPECT_EQ(code_of(*op, one), 0) << op->name << ": " << normgradGetLastError();
      }
      EXPECT_EQ(code_of(*op, none), 0) << op->name << ": " << normgradGetLastError();
    }
  }
}

TEST(PhaseOne, StorageMayBeAnythingThatCoversTheView) {
  for (const Operator* op : operators()) {
    Call call = valid_call(*op);
    for (Spec& spec : call.specs) {
      spec.storage = {100};  // one dimension, as torch_npu passes it
      spec.offset = 5;
    }
    EXPECT_EQ(code_of(*op, call), 0) << op->name << ": " << normgradGetLastError();
  }
}

// What is not wanted may be null, dead, of a bad type, format or shape.
TEST(PhaseOne, OutputsThatAreNotWantedAreNotLookedAt) {
  for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<bool> wanted(3, true);
      wanted[i] = false;
      const Mask mask(wanted);
      Call call = valid_call(*op);
      call.attributes.mask = mask.get();
      call.specs[7 + i] = {{9, 9}, ACL_INT8, ACL_FORMAT_NC1HWC0};
      EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
      call.replaced[7 + i] = nullptr;
      EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
      call.replaced[7 + i] = sentinel<aclTensor>();
      EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
    }
  }
  for (std::size_t i = 5; i < 9; ++i) {
    Call call = valid_call(reduce_backward());
    call.attributes.wanted[i == 5 || i == 6 ? 0 : i - 6] = false;
    call.specs[i] = {{9, 9}, ACL_INT8, ACL_FORMAT_NC1HWC0};
    EXPECT_EQ(code_of(reduce_backward(), call), 0) << normgradGetLastError();
    call.replaced[i] = sentinel<aclTensor>();
    EXPECT_EQ(code_of(reduce_backward(), call), 0) << normgradGetLastError();
  }
  for (const char* name : {"saveMean", "saveInvstd"}) {
    Call call = valid_call(batch_norm());
    call.attributes.training = false;
    call.replaced[batch_norm().find(name)] = sentinel<aclTensor>();
    EXPECT_EQ(code_of(batch_norm(), call), 0) << normgradGetLastError();
  }
}

TEST(PhaseOne, AnEmptyInputOfBatchNormBackwardEndsAllChecks) {
  for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
    for (const char* empty : {"gradOut", "input"}) {
      Call call = valid_call(*op);
      for (std::size_t i = 2; i < call.specs.size(); ++i) call.replaced[i] = sentinel<aclTensor>();
      call.specs[op->find(empty)] = {{3, 0}, ACL_INT8, ACL_FORMAT_NC1HWC0};
      call.attributes.mask = nullptr;
      EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
    }
  }
}

TEST(PhaseOne, SavedStatisticsMayHaveNoElementsInInference) {
  for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
    Call call = valid_call(*op);
    call.attributes.training = false;
    call(*op, "saveMean").shape = {0};
    call(*op, "saveInvstd").shape = {0};
    EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
  }
}

TEST(PhaseOne, ChannelsAreTheLastAxisWithNhwcOfBatchNormOn950Alone) {
  const Call last{specs_for(batch_norm_backward(), {2, 5, 4, 3}, ACL_FLOAT, ACL_FORMAT_NHWC, 3),
                  {},
                  valid_call(batch_norm_backward()).attributes};
  const Call first{specs_for(batch_norm_backward(), {2, 5, 4, 3}, ACL_FLOAT, ACL_FORMAT_NHWC, 1),
                   {},
                   last.attributes};
  for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
    EXPECT_EQ(code_of(*op, is_910b() ? first : last), 0) << normgradGetLastError();
    EXPECT_EQ(code_of(*op, is_910b() ? last : first), ACLNN_ERR_PARAM_INVALID);
  }
  for (const Operator* op : {&reduce_backward(), &elemt(), &elemt_backward(), &stats()}) {
    const Call axis_1{specs_for(*op, {2, 5, 4, 3}, ACL_FLOAT, ACL_FORMAT_NHWC, 1), {}, {}};
    EXPECT_EQ(code_of(*op, axis_1), 0) << normgradGetLastError();
  }
}

TEST(PhaseOne, MixturesOfTypesThatAreTaken) {
  struct Mixture {
    aclDataType data, weight, running, saved, gradients;
  };
  for (const Mixture& m : {Mixture{ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16},
                           {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT},
                           {ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT},
                           {ACL_BF16, ACL_BF16, ACL_BF16, ACL_FLOAT, ACL_BF16},
                           {ACL_BF16, ACL_BF16, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT}}) {
    for (const Operator* op : {&batch_norm_backward(), &fast_batch_norm_backward()}) {
      Call call = valid_call(*op);
      const aclDataType types[] = {m.data,  m.data,  m.weight, m.running,   m.running,
                                   m.saved, m.saved, m.data,   m.gradients, m.gradients};
      for (std::size_t i = 0; i < call.specs.size(); ++i) call.specs[i].dtype = types[i];
      EXPECT_EQ(code_of(*op, call), 0) << normgradGetLastError();
    }
  }
  for (const aclDataType vectors :
       {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {  // as mixed precision has them
    Call mixed = valid_call(elemt());
    for (const char* name : {"input", "output"}) mixed(elemt(), name).dtype = ACL_BF16;
    for (const char* name : {"weight", "mean"}) mixed(elemt(), name).dtype = vectors;
    EXPECT_EQ(code_of(elemt(), mixed), 0) << normgradGetLastError();
    mixed = valid_call(batch_norm());
    mixed(batch_norm(), "weight").dtype = vectors;
    EXPECT_EQ(code_of(batch_norm(), mixed), 0) << normgradGetLastError();
  }
  Call call = valid_call(fast_batch_norm_backward());  // which has no rule against it
  call(fast_batch_norm_backward(), "weight").dtype = ACL_BF16;
  call(fast_batch_norm_backward(), "saveMean").dtype = ACL_FLOAT16;
  EXPECT_EQ(code_of(fast_batch_norm_backward(), call), 0) << normgradGetLastError();
}

// Also where no element is read, and where strides of 0 need next to no memory.
TEST(PhaseOne, AnInputWithMoreElementsThanCanBeCountedIsRefused) {
  const Operator& op = gather_stats();
  Call call = valid_call(op);
  call(op, "input") = {{INT64_MAX / 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, {0, 4, 1}, 0, {12}};
  EXPECT_EQ(code_of(op, call), ACLNN_ERR_PARAM_INVALID);
}

}  // namespace
}  // namespace aclnn_test
