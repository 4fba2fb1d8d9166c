// SyncBatchNorm in pieces: a device's statistics, those of all devices, normalization with them; backward the sums of a device,
// and the gradient from the sums of all. Channels are axis 1.
#include "aclnnop/aclnn_batch_norm_backward_reduce.h"
#include "aclnnop/aclnn_batch_norm_elemt.h"
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/aclnn_batch_norm_gather_stats_with_counts.h"
#include "aclnnop/aclnn_batch_norm_reduce.h"
#include "aclnnop/aclnn_batch_norm_stats.h"
#include "aclnnop/aclnn_sync_batch_norm_gather_stats.h"
#include "api/aclnn/operator.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::Arg;

namespace {

using enum Form;
using enum Use;

// ---- aclnnBatchNormStats: mean and reciprocal standard deviation of every channel, over one device ----

namespace stats {

enum : int { kInput, kMean, kInvstd };
constexpr Row kRows[] = {
    {"input", Arg::kX, kData, kIn},
    {"mean", Arg::kMean, kVector, kOut},
    {"invstd", Arg::kRstd, kVector, kOut},
};
constexpr Spec kSpec{
    .name = "aclnnBatchNormStats", .op = normgrad::Op::kBatchNorm, .data = kInput, .rows = kRows};

int check_and_plan(const Arguments& a, double eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  normgrad::Problem problem = problem_of(a);
  problem.eps = eps;
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (a.channels() == 0) executor.plan = {};
  return 0;
}

}  // namespace stats

// ---- aclnnBatchNormReduce: the sum of every channel, and of its squares ----

namespace sums {

enum : int { kX, kSum, kSquareSum };
constexpr Row kRows[] = {
    {"x", Arg::kX, kData, kIn},
    {"sum", Arg::kSum, kVector, kOut},
    {"squareSum", Arg::kSumOfSquares, kVector, kOut},
};
constexpr Spec kSpec{
    .name = "aclnnBatchNormReduce", .op = normgrad::Op::kBatchNorm, .data = kX, .rows = kRows};

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  normgrad::Problem problem = problem_of(a);
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (a.channels() == 0) executor.plan = {};
  return 0;
}

}  // namespace sums

// ---- aclnnSyncBatchNormGatherStats: the statistics of all devices from the sums of each ----

namespace gather_sums {

enum : int {
  kTotalSum,
  kTotalSquareSum,
  kSampleCount,
  kMean,
  kVariance,
  kBatchMean,
  kBatchInvstd,
};
constexpr Row kRows[] = {
    {"totalSum", Arg::kSum, kData, kIn},
    {"totalSquareSum", Arg::kSumOfSquares, kOther, kIn},
    {"sampleCount", Arg::kCounts, kOther, kIn, {}, true},
    {"mean", Arg::kRunningMean, kVector, kOut},
    {"variance", Arg::kRunningVar, kVector, kOut},
    {"batchMean", Arg::kMeanAll, kVector, kOut},
    {"batchInvstd", Arg::kRstdAll, kVector, kOut},
};
constexpr Spec kSpec{.name = "aclnnSyncBatchNormGatherStats",
                     .op = normgrad::Op::kBatchNormGatherSums,
                     .data = kTotalSum,
                     .rows = kRows};

int check_and_plan(const Arguments& a, float momentum, float eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  if (a[kTotalSum]->shape[0] == 0) {
    return refuse(kAclnnInvalid, "totalSum has shape (0, ...), but must have a device at least");
  }
  normgrad::Problem problem = problem_of(a);
  problem.momentum = static_cast<double>(momentum);
  problem.eps = static_cast<double>(eps);
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (a.channels() == 0) executor.plan = {};
  return 0;
}

}  // namespace gather_sums

// ---- aclnnBatchNormGatherStatsWithCounts: the statistics of all devices from those of each ----

namespace gather {

enum : int {
  kInput,
  kMean,
  kInvstd,
  kRunningMean,
  kRunningVar,
  kCounts,
  kMeanAll,
  kInvstdAll,
};
constexpr Row kRows[] = {
    {"input", Arg::kNone, kData, kIn},
    {"mean", Arg::kMean, kOther, kIn},
    {"invstd", Arg::kRstd, kOther, kIn},
    {"runningMean", Arg::kRunningMean, kVector, kOptional},
    {"runningVar", Arg::kRunningVar, kVector, kOptional},
    {"counts", Arg::kCounts, kOther, kIn},
    {"meanAll", Arg::kMeanAll, kVector, kOut},
    {"invstdAll", Arg::kRstdAll, kVector, kOut},
};
constexpr Spec kSpec{.name = "aclnnBatchNormGatherStatsWithCounts",
                     .op = normgrad::Op::kBatchNormGatherStats,
                     .data = kInput,
                     .rows = kRows};

// The core does not know the input, which has no part in the computation.
int check_channels_of_mean(const Arguments& a) {
  const Dims& shape = a[kMean]->shape;
  if (shape.size() != 2 || shape[1] == a.channels()) return 0;
  return refuse(kAclnnInvalid,
                "mean has shape (%lld, %lld), but must have %lld channels like input",
                static_cast<long long>(shape[0]), static_cast<long long>(shape[1]),
                static_cast<long long>(a.channels()));
}

int check_and_plan(Arguments& a, double momentum, double eps, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  NORMGRAD_ACLNN_TRY(check_channels_of_mean(a));
  const bool updates = a[kRunningMean] && a[kRunningVar];  // both or none
  if (!updates) a[kRunningMean].arg = a[kRunningVar].arg = Arg::kNone;
  normgrad::Problem problem = problem_of(a);
  problem.momentum = momentum;
  problem.eps = eps;
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (a.channels() == 0) executor.plan = {};
  return 0;
}

}  // namespace gather

// ---- aclnnBatchNormElemt: normalization with given statistics ----

namespace elemt {

enum : int { kInput, kWeight, kBias, kMean, kInvstd, kOutput };
constexpr Row kRows[] = {
    {"input", Arg::kX, kData, kIn},        {"weight", Arg::kW, kVector, kOptional},
    {"bias", Arg::kB, kVector, kOptional}, {"mean", Arg::kMean, kVector, kIn},
    {"invstd", Arg::kRstd, kVector, kIn},  {"output", Arg::kY, kData, kOut, {.type = kInput}},
};
constexpr Spec kSpec{.name = "aclnnBatchNormElemt",
                     .op = normgrad::Op::kBatchNorm,
                     .data = kInput,
                     .rows = kRows,
                     .needs_channels = true};

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  normgrad::Problem problem = problem_of(a);
  problem.training = false;
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (a[kInput]->is_empty()) executor.plan = {};
  return 0;
}

}  // namespace elemt

// ---- aclnnBatchNormReduceBackward: the sums of the backward pass, over one device ----

namespace reduce {

enum : int {
  kGradOut,
  kInput,
  kMean,
  kInvstd,
  kWeight,
  kSumDy,
  kSumDyXmu,
  kGradWeight,
  kGradBias,
};
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kData, kIn, {.type = kInput, .format = kInput}},
    {"input", Arg::kX, kData, kIn},
    {"mean", Arg::kMean, kVector, kIn},
    {"invstd", Arg::kRstd, kVector, kIn},
    {"weight", Arg::kNone, kVector, kOptional},
    {"sumDy", Arg::kSumDy, kVector, kOut},
    {"sumDyXmu", Arg::kSumDyXmu, kVector, kOut},
    {"gradWeight", Arg::kDw, kVector, kOut},
    {"gradBias", Arg::kDb, kVector, kOut},
};
constexpr Spec kSpec{.name = "aclnnBatchNormReduceBackward",
                     .op = normgrad::Op::kBatchNormBackward,
                     .data = kInput,
                     .rows = kRows,
                     .needs_channels = true};

// Sums over nothing; on an Ascend910B they are not even written.
int plan_empty(Arguments& a, aclOpExecutor& executor) {
  if (!is_950()) return 0;
  normgrad::Problem problem = problem_of(a);
  problem[Arg::kX] = nothing_like(a, a[kInput]);
  problem[Arg::kDy] = nothing_like(a, a[kGradOut]);
  for (const int i : {kGradOut, kMean, kInvstd}) a[i].leave_out();
  a[kInput].arg = Arg::kNone;
  return make_executor(executor, problem, a);
}

int check_and_plan(Arguments& a, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  const bool empty = any_empty(a, {kGradOut, kInput, kMean, kInvstd});
  if (empty) a[kWeight].leave_out();  // CANN's own library does not look at it
  NORMGRAD_ACLNN_TRY(check_document(a));
  // Before the shapes of the inputs, which do not matter if one of them is empty.
  for (const int i : {kSumDy, kSumDyXmu, kGradWeight, kGradBias}) {
    NORMGRAD_ACLNN_TRY(check_channels_of(a, a[i]));
  }
  if (empty) return plan_empty(a, executor);
  normgrad::Problem problem = problem_of(a);
  return make_executor(executor, problem, a);
}

}  // namespace reduce

// ---- aclnnBatchNormElemtBackward: the gradient of the input from sums over all devices ----

namespace elemt_backward {

enum : int {
  kGradOut,
  kInput,
  kMean,
  kInvstd,
  kWeight,
  kSumDy,
  kSumDyXmu,
  kCounter,
  kGradInput,
};
constexpr Row kRows[] = {
    {"gradOut", Arg::kDy, kData, kIn, {.type = kInput}},
    {"input", Arg::kX, kData, kIn},
    {"mean", Arg::kMean, kVector, kIn},
    {"invstd", Arg::kRstd, kVector, kIn},
    {"weight", Arg::kW, kVector, kOptional},
    {"sumDy", Arg::kSumDy, kVector, kIn},
    {"sumDyXmu", Arg::kSumDyXmu, kVector, kIn},
    {"counter", Arg::kCounts, kOther, kIn, {}, true},
    {"gradInput", Arg::kDx, kData, kOut, {.type = kInput}},
};
constexpr Spec kSpec{.name = "aclnnBatchNormElemtBackward",
                     .op = normgrad::Op::kBatchNormElemtBackward,
                     .data = kInput,
                     .rows = kRows,
                     .needs_channels = true};

int check_and_plan(const Arguments& a, aclOpExecutor& executor) {
  NORMGRAD_ACLNN_TRY(check_not_null(a));
  NORMGRAD_ACLNN_TRY(check_alive(a));
  NORMGRAD_ACLNN_TRY(check_document(a));
  normgrad::Problem problem = problem_of(a);
  NORMGRAD_ACLNN_TRY(make_executor(executor, problem, a));
  if (any_empty(a, {kInput, kCounter})) executor.plan = {};
  return 0;
}

}  // namespace elemt_backward

}  // namespace

aclnnStatus aclnnBatchNormStatsGetWorkspaceSize(const aclTensor* input, double eps, aclTensor* mean,
                                                aclTensor* invstd, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
  return phase_one<stats::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) { return stats::check_and_plan(a, eps, made); }, input,
      mean, invstd);
}

aclnnStatus aclnnBatchNormStats(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(stats::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
    const aclTensor* input, const aclTensor* mean, const aclTensor* invstd, aclTensor* runningMean,
    aclTensor* runningVar, double momentum, double eps, const aclTensor* counts, aclTensor* meanAll,
    aclTensor* invstdAll, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<gather::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return gather::check_and_plan(a, momentum, eps, made);
      },
      input, mean, invstd, runningMean, runningVar, counts, meanAll, invstdAll);
}

aclnnStatus aclnnBatchNormGatherStatsWithCounts(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(gather::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormElemtGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                                const aclTensor* bias, aclTensor* mean,
                                                aclTensor* invstd, double /*eps*/,
                                                aclTensor* output, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
  return phase_one<elemt::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) { return elemt::check_and_plan(a, made); }, input,
      weight, bias, mean, invstd, output);
}

aclnnStatus aclnnBatchNormElemt(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                const aclrtStream stream) {
  return phase_two(elemt::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormReduceBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const bool inputG, const bool weightG,
    const bool biasG, aclTensor* sumDy, aclTensor* sumDyXmu, aclTensor* gradWeight,
    aclTensor* gradBias, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<reduce::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        if (!inputG) a[reduce::kSumDy].leave_out(), a[reduce::kSumDyXmu].leave_out();
        if (!weightG) a[reduce::kGradWeight].leave_out();
        if (!biasG) a[reduce::kGradBias].leave_out();
        return reduce::check_and_plan(a, made);
      },
      gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, gradWeight, gradBias);
}

aclnnStatus aclnnBatchNormReduceBackward(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(reduce::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
    const aclTensor* invstd, const aclTensor* weight, const aclTensor* sumDy,
    const aclTensor* sumDyXmu, aclTensor* counter, aclTensor* gradInput, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return phase_one<elemt_backward::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) { return elemt_backward::check_and_plan(a, made); },
      gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter, gradInput);
}

aclnnStatus aclnnBatchNormElemtBackward(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(elemt_backward::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnBatchNormReduceGetWorkspaceSize(const aclTensor* x, const aclTensor* sum,
                                                 const aclTensor* squareSum,
                                                 uint64_t* workspaceSize,
                                                 aclOpExecutor** executor) {
  return phase_one<sums::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) { return sums::check_and_plan(a, made); }, x, sum,
      squareSum);
}

aclnnStatus aclnnBatchNormReduce(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 const aclrtStream stream) {
  return phase_two(sums::kSpec.name, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnSyncBatchNormGatherStatsGetWorkspaceSize(
    const aclTensor* totalSum, const aclTensor* totalSquareSum, const aclTensor* sampleCount,
    aclTensor* mean, aclTensor* variance, float momentum, float eps, aclTensor* batchMean,
    aclTensor* batchInvstd, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return phase_one<gather_sums::kSpec>(
      __func__, workspaceSize, executor,
      [&](Arguments& a, aclOpExecutor& made) {
        return gather_sums::check_and_plan(a, momentum, eps, made);
      },
      totalSum, totalSquareSum, sampleCount, mean, variance, batchMean, batchInvstd);
}

aclnnStatus aclnnSyncBatchNormGatherStats(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, const aclrtStream stream) {
  return phase_two(gather_sums::kSpec.name, workspace, workspaceSize, executor, stream);
}
