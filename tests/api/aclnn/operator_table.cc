#include "api/aclnn/operator_table.h"

#include <algorithm>
#include <cstdlib>

namespace aclnn_test {
namespace {

constexpr Form kData = Form::kData;
constexpr Form kChannels = Form::kChannels;

const std::vector<Argument> kBackwardArguments = {
    {"gradOut", kData},
    {"input", kData},
    {"weight", kChannels, false, true},
    {"runningMean", kChannels, false, true},
    {"runningVar", kChannels, false, true},
    {"saveMean", kChannels, false, true},
    {"saveInvstd", kChannels, false, true},
    {"gradInput", kData, true},
    {"gradWeight", kChannels, true},
    {"gradBias", kChannels, true},
};

}  // namespace

const Operator& batch_norm() {
  static const Operator op{
      "aclnnBatchNorm",
      {{"input", kData},
       {"weight", kChannels, false, true},
       {"bias", kChannels, false, true},
       {"runningMean", kChannels, false, true},
       {"runningVar", kChannels, false, true},
       {"output", kData, true},
       {"saveMean", kChannels, true},
       {"saveInvstd", kChannels, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.training, a.momentum,
                                              a.eps, t[5], t[6], t[7], size, executor);
      },
      aclnnBatchNorm};
  return op;
}

const Operator& batch_norm_backward() {
  static const Operator op{
      "aclnnBatchNormBackward", kBackwardArguments,
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                      a.training, a.eps, a.mask, t[7], t[8], t[9],
                                                      size, executor);
      },
      aclnnBatchNormBackward};
  return op;
}

const Operator& fast_batch_norm_backward() {
  static const Operator op{
      "aclnnFastBatchNormBackward", kBackwardArguments,
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnFastBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                          a.training, a.eps, a.mask, a.version,
                                                          t[7], t[8], t[9], size, executor);
      },
      aclnnFastBatchNormBackward};
  return op;
}

const Operator& reduce_backward() {
  static const Operator op{
      "aclnnBatchNormReduceBackward",
      {{"gradOut", kData},
       {"input", kData},
       {"mean", kChannels},
       {"invstd", kChannels},
       {"weight", kChannels, false, true},
       {"sumDy", kChannels, true},
       {"sumDyXmu", kChannels, true},
       {"gradWeight", kChannels, true},
       {"gradBias", kChannels, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormReduceBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4],
                                                            a.wanted[0], a.wanted[1], a.wanted[2],
                                                            t[5], t[6], t[7], t[8], size, executor);
      },
      aclnnBatchNormReduceBackward};
  return op;
}

const Operator& elemt() {
  static const Operator op{
      "aclnnBatchNormElemt",
      {{"input", kData},
       {"weight", kChannels, false, true},
       {"bias", kChannels, false, true},
       {"mean", kChannels},
       {"invstd", kChannels},
       {"output", kData, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormElemtGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.eps, t[5], size,
                                                   executor);
      },
      aclnnBatchNormElemt};
  return op;
}

const Operator& elemt_backward() {
  static const Operator op{
      "aclnnBatchNormElemtBackward",
      {{"gradOut", kData},
       {"input", kData},
       {"mean", kChannels},
       {"invstd", kChannels},
       {"weight", kChannels, false, true},
       {"sumDy", kChannels},
       {"sumDyXmu", kChannels},
       {"counter", Form::kDevices},
       {"gradInput", kData, true}},
      [](aclTensor* const* t, const Attributes&, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormElemtBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                           t[7], t[8], size, executor);
      },
      aclnnBatchNormElemtBackward};
  return op;
}

const Operator& stats() {
  static const Operator op{
      "aclnnBatchNormStats",
      {{"input", kData}, {"mean", kChannels, true}, {"invstd", kChannels, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormStatsGetWorkspaceSize(t[0], a.eps, t[1], t[2], size, executor);
      },
      aclnnBatchNormStats};
  return op;
}

const Operator& gather_stats() {
  static const Operator op{
      "aclnnBatchNormGatherStatsWithCounts",
      {{"input", kData},
       {"mean", Form::kTable},
       {"invstd", Form::kTable},
       {"runningMean", kChannels, false, true},
       {"runningVar", kChannels, false, true},
       {"counts", Form::kDevices},
       {"meanAll", kChannels, true},
       {"invstdAll", kChannels, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
            t[0], t[1], t[2], t[3], t[4], a.momentum, a.eps, t[5], t[6], t[7], size, executor);
      },
      aclnnBatchNormGatherStatsWithCounts};
  return op;
}

const Operator& batch_norm_reduce() {
  static const Operator op{
      "aclnnBatchNormReduce",
      {{"x", kData}, {"sum", kChannels, true}, {"squareSum", kChannels, true}},
      [](aclTensor* const* t, const Attributes&, uint64_t* size, aclOpExecutor** executor) {
        return aclnnBatchNormReduceGetWorkspaceSize(t[0], t[1], t[2], size, executor);
      },
      aclnnBatchNormReduce};
  return op;
}

const Operator& gather_sums() {
  static const Operator op{
      "aclnnSyncBatchNormGatherStats",
      {{"totalSum", Form::kTable},
       {"totalSquareSum", Form::kTable},
       {"sampleCount", Form::kDevices},
       {"mean", kChannels, true},
       {"variance", kChannels, true},
       {"batchMean", kChannels, true},
       {"batchInvstd", kChannels, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnSyncBatchNormGatherStatsGetWorkspaceSize(
            t[0], t[1], t[2], t[3], t[4], static_cast<float>(a.momentum), static_cast<float>(a.eps),
            t[5], t[6], size, executor);
      },
      aclnnSyncBatchNormGatherStats};
  return op;
}

const Operator& group_norm() {
  static const Operator op{
      "aclnnGroupNorm",
      {{"self", kData},
       {"gamma", kChannels, false, true},
       {"beta", kChannels, false, true},
       {"out", kData, true},
       {"meanOut", Form::kGroups, true},
       {"rstdOut", Form::kGroups, true}},
      [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
        return aclnnGroupNormGetWorkspaceSize(t[0], t[1], t[2], a.n, a.c, a.l, a.group, a.eps, t[3],
                                              t[4], t[5], size, executor);
      },
      aclnnGroupNorm};
  return op;
}

const Operator& group_norm_backward() {
  static const Operator op = [] {
    Operator made{
        "aclnnGroupNormBackward",
        {{"gradOut", kData},
         {"input", kData},
         {"mean", Form::kGroups},
         {"rstd", Form::kGroups},
         {"gamma", kChannels, false, true},
         {"gradInput", kData, true},
         {"gradGammaOut", kChannels, true},
         {"gradBetaOut", kChannels, true}},
        [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
          return aclnnGroupNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.n, a.c, a.l,
                                                        a.group, a.mask, t[5], t[6], t[7], size,
                                                        executor);
        },
        aclnnGroupNormBackward};
    made.null_output_code = ACLNN_ERR_PARAM_INVALID;
    return made;
  }();
  return op;
}

Attributes attributes_for(const std::vector<int64_t>& shape) {
  Attributes out;
  out.mask = all_wanted();
  out.normalized = row_of_four();
  out.n = shape[0], out.c = out.group = shape[1], out.l = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) out.l *= shape[d];
  if (out.group == 0) out.group = 1;
  return out;
}

// ---- row norms ----

const std::vector<const Operator*>& row_norms() {
  static const std::vector<Operator> all = {
      {"aclnnLayerNorm",
       {{"input", Form::kData, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"out", Form::kData, true, false, false},
        {"meanOutOptional", Form::kPerRow, true, true, false},
        {"rstdOutOptional", Form::kPerRow, true, true, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnLayerNormGetWorkspaceSize(t[0], a.normalized, t[1], t[2], a.eps, t[3], t[4],
                                               t[5], size, executor);
       },
       aclnnLayerNorm,
       true,
       true,
       1},
      {"aclnnLayerNormWithImplMode",
       {{"input", Form::kData, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"out", Form::kData, true, false, false},
        {"meanOutOptional", Form::kPerRow, true, true, false},
        {"rstdOutOptional", Form::kPerRow, true, true, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnLayerNormWithImplModeGetWorkspaceSize(
             t[0], a.normalized, t[1], t[2], a.eps, t[3], t[4], t[5], a.version, size, executor);
       },
       aclnnLayerNormWithImplMode,
       true,
       true,
       1},
      {"aclnnFastLayerNorm",
       {{"input", Form::kData, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"out", Form::kData, true, false, false},
        {"meanOutOptional", Form::kPerRow, true, true, false},
        {"rstdOutOptional", Form::kPerRow, true, true, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnFastLayerNormGetWorkspaceSize(t[0], a.normalized, t[1], t[2], a.eps, t[3],
                                                   t[4], t[5], size, executor);
       },
       aclnnFastLayerNorm,
       true,
       true,
       1},
      {"aclnnLayerNormBackward",
       {{"gradOut", Form::kData, false, false, false},
        {"input", Form::kData, false, false, false},
        {"mean", Form::kPerRow, false, false, false},
        {"rstd", Form::kPerRow, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"gradInputOut", Form::kData, true, false, false},
        {"gradWeightOut", Form::kRow, true, false, false},
        {"gradBiasOut", Form::kRow, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnLayerNormBackwardGetWorkspaceSize(t[0], t[1], a.normalized, t[2], t[3], t[4],
                                                       t[5], a.mask, t[6], t[7], t[8], size,
                                                       executor);
       },
       aclnnLayerNormBackward,
       true,
       true,
       1},
      {"aclnnAddLayerNorm",
       {{"x1", Form::kData, false, false, false},
        {"x2", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"beta", Form::kRow, false, false, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"yOut", Form::kData, true, false, false},
        {"meanOut", Form::kPerRow, true, false, true},
        {"rstdOut", Form::kPerRow, true, false, true},
        {"xOut", Form::kData, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddLayerNormGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.eps, true, t[5],
                                                  t[6], t[7], t[8], size, executor);
       },
       aclnnAddLayerNorm,
       true,
       false,
       1,
       561002},
      {"aclnnAddLayerNormGrad",
       {{"dy", Form::kData, false, false, false},
        {"x1", Form::kData, false, false, false},
        {"x2", Form::kData, false, false, false},
        {"rstd", Form::kPerRow, false, false, true},
        {"mean", Form::kPerRow, false, false, true},
        {"gamma", Form::kRow, false, false, false},
        {"dsumOptional", Form::kData, false, true, false},
        {"dxOut", Form::kData, true, false, false},
        {"dgammaOut", Form::kRow, true, false, true},
        {"dbetaOut", Form::kRow, true, false, true}},
       [](aclTensor* const* t, const Attributes&, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddLayerNormGradGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                      t[7], t[8], t[9], size, executor);
       },
       aclnnAddLayerNormGrad,
       true,
       false,
       1,
       561002},
      {"aclnnDeepNorm",
       {{"x", Form::kData, false, false, false},
        {"gx", Form::kData, false, false, false},
        {"beta", Form::kRow, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"meanOut", Form::kPerRow, true, false, true},
        {"rstdOut", Form::kPerRow, true, false, true},
        {"yOut", Form::kData, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDeepNormGetWorkspaceSize(t[0], t[1], t[2], t[3], 0.81, a.eps, t[4], t[5], t[6],
                                              size, executor);
       },
       aclnnDeepNorm,
       true,
       false,
       2,
       561002},
      {"aclnnDeepNormGrad",
       {{"dy", Form::kData, false, false, false},
        {"x", Form::kData, false, false, false},
        {"gx", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"mean", Form::kPerRow, false, false, true},
        {"rstd", Form::kPerRow, false, false, true},
        {"dxOut", Form::kData, true, false, false},
        {"dgxOut", Form::kData, true, false, false},
        {"dbetaOut", Form::kRow, true, false, true},
        {"dgammaOut", Form::kRow, true, false, true}},
       [](aclTensor* const* t, const Attributes&, uint64_t* size, aclOpExecutor** executor) {
         return aclnnDeepNormGradGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], 0.81, t[6],
                                                  t[7], t[8], t[9], size, executor);
       },
       aclnnDeepNormGrad,
       true,
       false,
       2,
       561002},
      {"aclnnAdaLayerNorm",
       {{"x", Form::kData, false, false, false},
        {"scale", Form::kRow, false, false, false},
        {"shift", Form::kRow, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"out", Form::kData, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAdaLayerNormGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.eps, t[5], size,
                                                  executor);
       },
       aclnnAdaLayerNorm,
       true,
       false,
       2},
      {"aclnnAdaLayerNormV2",
       {{"x", Form::kData, false, false, false},
        {"scale", Form::kRow, false, false, false},
        {"shift", Form::kRow, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"out", Form::kData, true, false, false},
        {"meanOutOptional", Form::kPerRow, true, true, false},
        {"rstdOutOptional", Form::kPerRow, true, true, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAdaLayerNormV2GetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], a.eps, t[5], t[6],
                                                    t[7], size, executor);
       },
       aclnnAdaLayerNormV2,
       true,
       false,
       2},
      {"aclnnAdaLayerNormBackward",
       {{"gradOut", Form::kData, false, false, false},
        {"input", Form::kData, false, false, false},
        {"rstd", Form::kPerRow, false, false, false},
        {"mean", Form::kPerRow, false, false, false},
        {"scale", Form::kSegments, false, false, false},
        {"shift", Form::kSegments, false, false, false},
        {"weightOptional", Form::kRow, false, true, false},
        {"biasOptional", Form::kRow, false, true, false},
        {"gradInputOut", Form::kData, true, true, false},
        {"gradScaleOut", Form::kSegments, true, true, false},
        {"gradShiftOut", Form::kSegments, true, true, false},
        {"gradWeightOut", Form::kRow, true, true, false},
        {"gradBiasOut", Form::kRow, true, true, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAdaLayerNormBackwardGetWorkspaceSize(t[0], t[1], a.normalized, t[2], t[3],
                                                          t[4], t[5], t[6], t[7], t[8], t[9], t[10],
                                                          t[11], t[12], size, executor);
       },
       aclnnAdaLayerNormBackward,
       true,
       true,
       2},
      {"aclnnRmsNorm",
       {{"x", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"yOut", Form::kData, true, false, false},
        {"rstdOut", Form::kPerRow, true, false, true}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnRmsNormGetWorkspaceSize(t[0], t[1], a.eps, t[2], t[3], size, executor);
       },
       aclnnRmsNorm,
       true,
       false,
       1,
       561002},
      {"aclnnGemmaRmsNorm",
       {{"x", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"yOut", Form::kData, true, false, false},
        {"rstdOut", Form::kPerRow, true, false, true}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnGemmaRmsNormGetWorkspaceSize(t[0], t[1], a.eps, t[2], t[3], size, executor);
       },
       aclnnGemmaRmsNorm,
       true,
       false,
       1,
       561002},
      {"aclnnRmsNormGrad",
       {{"dy", Form::kData, false, false, false},
        {"x", Form::kData, false, false, false},
        {"rstd", Form::kPerRow, false, false, true},
        {"gamma", Form::kRow, false, false, false},
        {"dxOut", Form::kData, true, false, false},
        {"dgammaOut", Form::kRow, true, false, true}},
       [](aclTensor* const* t, const Attributes&, uint64_t* size, aclOpExecutor** executor) {
         return aclnnRmsNormGradGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], size,
                                                 executor);
       },
       aclnnRmsNormGrad,
       true,
       false,
       2,
       561002},
      {"aclnnAddRmsNorm",
       {{"x1", Form::kData, false, false, false},
        {"x2", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"yOut", Form::kData, true, false, false},
        {"rstdOut", Form::kPerRow, true, true, true},
        {"xOut", Form::kData, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddRmsNormGetWorkspaceSize(t[0], t[1], t[2], a.eps, t[3], t[4], t[5], size,
                                                executor);
       },
       aclnnAddRmsNorm,
       true,
       false,
       1,
       561002},
      {"aclnnAddRmsNormCast",
       {{"x1", Form::kData, false, false, false},
        {"x2", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"y1Out", Form::kData, true, false, true},
        {"y2Out", Form::kData, true, false, false},
        {"rstdOut", Form::kPerRow, true, false, true},
        {"xOut", Form::kData, true, false, false}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnAddRmsNormCastGetWorkspaceSize(t[0], t[1], t[2], a.eps, t[3], t[4], t[5], t[6],
                                                    size, executor);
       },
       aclnnAddRmsNormCast,
       true,
       false,
       1,
       561002},
      {"aclnnInplaceAddRmsNorm",
       {{"x1Ref", Form::kData, false, false, false},
        {"x2Ref", Form::kData, false, false, false},
        {"gamma", Form::kRow, false, false, false},
        {"rstdOut", Form::kPerRow, true, false, true}},
       [](aclTensor* const* t, const Attributes& a, uint64_t* size, aclOpExecutor** executor) {
         return aclnnInplaceAddRmsNormGetWorkspaceSize(t[0], t[1], t[2], a.eps, t[3], size,
                                                       executor);
       },
       aclnnInplaceAddRmsNorm,
       true,
       false,
       1,
       561002},
  };
  static const std::vector<const Operator*> addresses = [] {
    std::vector<const Operator*> out;
    for (const Operator& op : all) out.push_back(&op);
    return out;
  }();
  return addresses;
}

const Operator& row_norm(const std::string& name) {
  for (const Operator* op : row_norms()) {
    if (op->name == name) return *op;
  }
  std::abort();
}

const aclBoolArray* all_wanted() {
  static const bool wanted[] = {true, true, true};
  static const aclBoolArray* const made = aclCreateBoolArray(wanted, 3);
  return made;
}
const aclIntArray* row_of_four() {
  static const std::int64_t extent = 4;
  static const aclIntArray* const made = aclCreateIntArray(&extent, 1);
  return made;
}

const std::vector<const Operator*>& operators() {
  static const std::vector<const Operator*> all = [] {
    std::vector<const Operator*> out = {&batch_norm(),
                                        &batch_norm_backward(),
                                        &fast_batch_norm_backward(),
                                        &reduce_backward(),
                                        &elemt(),
                                        &elemt_backward(),
                                        &stats(),
                                        &gather_stats(),
                                        &batch_norm_reduce(),
                                        &gather_sums(),
                                        &group_norm(),
                                        &group_norm_backward()};
    out.insert(out.end(), row_norms().begin(), row_norms().end());
    return out;
  }();
  return all;
}

bool Operator::has(const std::string& argument) const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& a) { return argument == a.name; });
}

std::size_t Operator::find(const std::string& argument) const {
  std::size_t i = 0;
  while (argument != arguments.at(i).name) ++i;
  return i;
}

std::size_t Operator::inputs() const {
  return static_cast<std::size_t>(std::count_if(arguments.begin(), arguments.end(),
                                                [](const Argument& a) { return !a.output; }));
}

}  // namespace aclnn_test
