// What CANN's own unit tests expect of the two operators that we know them of, line by line.
#include "api/aclnn/refusals.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR;
constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;

// Phase 1, and, if it succeeds, phase 2.
int outcome(const Operator& op, const Call& call) {
  const Session session;
  Tensors tensors(call.specs);
  for (const auto& [i, other] : call.replaced) tensors[i] = other;
  aclOpExecutor* executor = nullptr;
  uint64_t size = 0;
  int code = op.phase_one(tensors.data(), call.attributes, &size, &executor);
  std::vector<char> workspace(size);
  if (code == 0) {
    code = op.phase_two(size == 0 ? nullptr : workspace.data(), size, executor, session.stream());
    EXPECT_EQ(aclrtSynchronizeStream(session.stream()), 0);
  }
  return code;
}

// ---- aclnnBatchNormReduceBackward ----

const Operator& kReduce = reduce_backward();

Call reduce_call(aclDataType dtype = ACL_FLOAT, aclFormat format = ACL_FORMAT_ND,
                 const std::vector<int64_t>& shape = {2, 3, 1, 4}) {
  return {specs_for(kReduce, shape, dtype, format), {}, {}};
}

class ReduceBackwardTypes : public testing::TestWithParam<aclDataType> {};
TEST_P(ReduceBackwardTypes, AllFlagsTrueSucceeds) {
  EXPECT_EQ(outcome(kReduce, reduce_call(GetParam())), 0) << normgradGetLastError();
}
INSTANTIATE_TEST_SUITE_P(Upstream, ReduceBackwardTypes,
                         testing::Values(ACL_FLOAT, ACL_FLOAT16, ACL_BF16));

class ReduceBackwardFormats : public testing::TestWithParam<aclFormat> {};
TEST_P(ReduceBackwardFormats, OnAllTensorsWithChannelsInAxisOneSucceeds) {
  EXPECT_EQ(outcome(kReduce, reduce_call(ACL_FLOAT, GetParam())), 0) << normgradGetLastError();
}
INSTANTIATE_TEST_SUITE_P(Upstream, ReduceBackwardFormats,
                         testing::Values(ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_HWCN,
                                         ACL_FORMAT_NDHWC, ACL_FORMAT_NCDHW));

TEST(UpstreamReduceBackward, GradOutAndInputInt32) {
  Call call = reduce_call();
  call(kReduce, "gradOut").dtype = call(kReduce, "input").dtype = ACL_INT32;
  EXPECT_EQ(outcome(kReduce, call), kInvalid);
}

TEST(UpstreamReduceBackward, InputGFalseWithSumDyInt32) {
  Call call = reduce_call();
  call.attributes.wanted[0] = false;
  call(kReduce, "sumDy").dtype = ACL_INT32;
  EXPECT_EQ(outcome(kReduce, call), 0) << normgradGetLastError();
}

TEST(UpstreamReduceBackward, AllTensorsNc1hwc0) {
  EXPECT_EQ(outcome(kReduce, reduce_call(ACL_FLOAT, ACL_FORMAT_NC1HWC0)), kInvalid);
}

TEST(UpstreamReduceBackward, WeightGFalseWithGradWeightNc1hwc0) {
  Call call = reduce_call();
  call.attributes.wanted[1] = false;
  call(kReduce, "gradWeight").format = ACL_FORMAT_NC1HWC0;
  EXPECT_EQ(outcome(kReduce, call), 0) << normgradGetLastError();
}

TEST(UpstreamReduceBackward, EmptyData) {
  EXPECT_EQ(outcome(kReduce, reduce_call(ACL_FLOAT, ACL_FORMAT_ND, {2, 3, 0, 4})), 0)
      << normgradGetLastError();
}

TEST(UpstreamReduceBackward, RankNineAgainstRankFour) {
  for (const char* argument : {"gradOut", "input"}) {
    Call call = reduce_call();
    call(kReduce, argument).shape = {2, 3, 1, 4, 1, 1, 1, 1, 1};
    EXPECT_EQ(outcome(kReduce, call), kInvalid) << argument;
  }
}

TEST(UpstreamReduceBackward, GradOutF32InputF16) {
  Call call = reduce_call();
  call(kReduce, "input").dtype = ACL_FLOAT16;
  EXPECT_EQ(outcome(kReduce, call), kInvalid);
}

TEST(UpstreamReduceBackward, GradOutNdInputNhwc) {
  Call call = reduce_call();
  call(kReduce, "input").format = ACL_FORMAT_NHWC;
  EXPECT_EQ(outcome(kReduce, call), kInvalid);
}

TEST(UpstreamReduceBackward, SumDyOfFiveForThreeChannels) {
  Call call = reduce_call();
  call(kReduce, "sumDy").shape = {5};
  EXPECT_EQ(outcome(kReduce, call), kInvalid);
}

TEST(UpstreamReduceBackward, GradOutNull) {
  Call call = reduce_call();
  call.replaced[kReduce.find("gradOut")] = nullptr;
  EXPECT_EQ(outcome(kReduce, call), kNull);
}

TEST(UpstreamReduceBackward, SumDyXmuNullComesBeforeAPrivateFormat) {
  Call call = reduce_call();
  call.replaced[kReduce.find("sumDyXmu")] = nullptr;
  call(kReduce, "gradOut").format = ACL_FORMAT_NC1HWC0;
  EXPECT_EQ(outcome(kReduce, call), kNull);
}

TEST(UpstreamReduceBackward, NchwContiguous) {
  EXPECT_EQ(outcome(kReduce, reduce_call(ACL_FLOAT, ACL_FORMAT_NCHW, {3, 5, 3, 8})), 0)
      << normgradGetLastError();
}

// ---- aclnnBatchNormBackward ----

const Operator& kBackward = batch_norm_backward();

Call backward_call(const std::vector<int64_t>& shape = {3, 5, 3, 8},
                   aclFormat format = ACL_FORMAT_NCHW, aclDataType data = ACL_FLOAT,
                   aclDataType parameters = ACL_FLOAT) {
  Call call = valid_call(kBackward);
  call.specs = specs_for(kBackward, shape, parameters, format);
  for (const char* argument : {"gradOut", "input", "gradInput"}) {
    call(kBackward, argument).dtype = data;
  }
  return call;
}

Call without_optionals(Call call) {
  for (std::size_t i = 0; i < kBackward.arguments.size(); ++i) {
    if (kBackward.arguments[i].optional) call.replaced[i] = nullptr;
  }
  return call;
}

TEST(UpstreamBatchNormBackward, MasksWithTwoOfThree) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<bool> wanted(3, true);
    wanted[i] = false;
    const Mask mask(wanted);
    Call call = backward_call();
    call.attributes.mask = mask.get();
    EXPECT_EQ(outcome(kBackward, call), 0) << normgradGetLastError();
  }
}

TEST(UpstreamBatchNormBackward, NcdhwInTrainingAndInference) {
  for (const bool training : {true, false}) {
    Call call = backward_call({3, 5, 3, 8, 9}, ACL_FORMAT_NCDHW);
    call.attributes.training = training;
    EXPECT_EQ(outcome(kBackward, call), 0) << normgradGetLastError();
  }
}

class BackwardLayouts : public testing::TestWithParam<std::pair<std::vector<int64_t>, aclFormat>> {
};
TEST_P(BackwardLayouts, F32Succeeds) {
  const auto& [shape, format] = GetParam();
  EXPECT_EQ(outcome(kBackward, backward_call(shape, format)), 0) << normgradGetLastError();
}
TEST_P(BackwardLayouts, F16WithF32ParametersSucceeds) {
  const auto& [shape, format] = GetParam();
  EXPECT_EQ(outcome(kBackward, backward_call(shape, format, ACL_FLOAT16)), 0)
      << normgradGetLastError();
}
INSTANTIATE_TEST_SUITE_P(Upstream, BackwardLayouts,
                         testing::Values(std::pair(std::vector<int64_t>{3, 5, 3, 8},
                                                   ACL_FORMAT_NCHW),
                                         std::pair(std::vector<int64_t>{3, 5, 20}, ACL_FORMAT_ND),
                                         std::pair(std::vector<int64_t>{90, 5}, ACL_FORMAT_ND)));

TEST(UpstreamBatchNormBackward, AllInputsNull) {
  Call call = backward_call();
  for (std::size_t i = 0; i < kBackward.inputs(); ++i) call.replaced[i] = nullptr;
  EXPECT_EQ(outcome(kBackward, call), kNull);
}

TEST(UpstreamBatchNormBackward, DataInt32WithoutOptionals) {
  EXPECT_EQ(outcome(kBackward,
                    without_optionals(backward_call({3, 5, 3, 8}, ACL_FORMAT_NCHW, ACL_INT32))),
            kInvalid);
}

TEST(UpstreamBatchNormBackward, F16DataWithAnInt32Parameter) {
  for (const char* argument : {"weight", "saveMean", "saveInvstd"}) {
    Call call = backward_call({3, 5, 3, 8}, ACL_FORMAT_NCHW, ACL_FLOAT16);
    call(kBackward, argument).dtype = ACL_INT32;
    EXPECT_EQ(outcome(kBackward, call), kInvalid) << argument;
  }
}

TEST(UpstreamBatchNormBackward, RankNine) {
  EXPECT_EQ(outcome(kBackward, backward_call({3, 5, 3, 2, 1, 2, 1, 2, 1})), kInvalid);
}

TEST(UpstreamBatchNormBackward, RankSixWithAWantedOutputNull) {
  for (const char* argument : {"gradInput", "gradWeight", "gradBias"}) {
    Call call = without_optionals(backward_call({3, 5, 3, 8, 2, 4}));
    call.replaced[kBackward.find(argument)] = nullptr;
    EXPECT_EQ(outcome(kBackward, call), kNull) << argument;
  }
}

TEST(UpstreamBatchNormBackward, RankSixWithAWantedOutputInt32) {
  for (const char* argument : {"gradInput", "gradWeight", "gradBias"}) {
    Call call = without_optionals(backward_call({3, 5, 3, 8, 2, 4}));
    call(kBackward, argument).dtype = ACL_INT32;
    EXPECT_EQ(outcome(kBackward, call), kInvalid) << argument;
  }
}

TEST(UpstreamBatchNormBackward, RankSevenNchw) {
  EXPECT_EQ(outcome(kBackward, backward_call({3, 5, 4, 6, 7, 2, 2})), 0) << normgradGetLastError();
}

TEST(UpstreamBatchNormBackward, ParametersOfFourForFiveChannels) {
  for (const char* argument : {"runningVar", "runningMean", "weight"}) {
    Call call = backward_call();
    call(kBackward, argument).shape = {4};
    EXPECT_EQ(outcome(kBackward, call), kInvalid) << argument;
  }
}

TEST(UpstreamBatchNormBackward, MaskOfLengthZero) {
  const Mask mask({});
  Call call = backward_call();
  call.attributes.mask = mask.get();
  EXPECT_EQ(outcome(kBackward, call), kNull);
}

TEST(UpstreamBatchNormBackward, InferenceWithVectorsOfFourForFiveChannels) {
  for (const char* argument : {"saveMean", "saveInvstd", "gradWeight", "gradBias"}) {
    Call call = backward_call();
    call.attributes.training = false;
    call(kBackward, argument).shape = {4};
    EXPECT_EQ(outcome(kBackward, call), kInvalid) << argument;
  }
}

}  // namespace
}  // namespace aclnn_test
