#include "ops/examples.h"

namespace ops_test {
namespace {

std::vector<Slot> statistics_of(Form form) {
  switch (form) {
    case Form::kLayerNormOfXHat:
      return {kSigma};
    case Form::kLayerNormOfX:
      return {kMean, kRstd};
    case Form::kRmsNorm:
      return {};
    case Form::kRmsNormOfRstd:
      return {kRstd};
    case Form::kBatchNormTraining:
    case Form::kBatchNormSums:
    case Form::kElemtBackward:
    case Form::kForwardGiven:
      return {kMean, kRstd};
    case Form::kForwardTraining:
      return {kMeanOut, kRstdOut, kVarOut, kRunningMean, kRunningVar};
    case Form::kGatherStats:
      return {kMeanOut, kRstdOut, kRunningMean, kRunningVar};
    case Form::kBatchNormInference:
      return {kMean, kVar};
    case Form::kLayerNormForward:
      return {kMeanOut, kRstdOut};
    case Form::kRmsNormForward:
      return {kRstdOut};
  }
  return {};
}

Op op_of(Form form) {
  constexpr Op kOpOf[] = {
      Op::kLayerNorm,   Op::kLayerNorm,        Op::kRmsNorm,       Op::kRmsNorm, Op::kBatchNorm,
      Op::kBatchNorm,   Op::kBatchNormSums,    Op::kElemtBackward, Op::kForward, Op::kForward,
      Op::kGatherStats, Op::kLayerNormForward, Op::kRmsNormForward};
  return kOpOf[static_cast<int>(form)];
}

std::vector<Slot> big_tensors_of(Form form) {
  if (op_of(form) == Op::kForward || is_row_forward(op_of(form))) return {kY, kX};
  return {kDx, kDy, form == Form::kLayerNormOfXHat ? kXHat : kX};
}

std::vector<Slot> parameters_of(Form form) {
  switch (op_of(form)) {
    case Op::kRmsNorm:
      return {kDw, kW};
    case Op::kBatchNormSums:
      return {kDw, kDb, kSumDy, kSumDyXmu, kW};
    case Op::kElemtBackward:
      return {kW, kSumDyGiven, kSumDyXmuGiven};
    case Op::kForward:
    case Op::kLayerNormForward:
      return {kW, kB};
    case Op::kRmsNormForward:
      return {kW};
    default:
      return {kDw, kDb, kW};
  }
}

Problem gather_stats_layout(Format data, const std::vector<std::int64_t>& shape) {
  Problem p;
  p.op = Op::kGatherStats;
  p.eps = 1e-5, p.momentum = 0.1;
  for (const Slot slot : {kMean, kRstd}) p.tensor[slot] = contiguous(data, shape);
  for (const Slot slot : statistics_of(Form::kGatherStats)) {
    p.tensor[slot] = contiguous(Format::kF32, {shape[1]});
  }
  p.tensor[kCounts] = contiguous(Format::kF32, {shape[0]});
  return p;
}

}  // namespace

const char* name(Form form) {
  constexpr const char* kNames[] = {"LayerNormOfXHat", "LayerNormOfX",      "RmsNorm",
                                    "RmsNormOfRstd",   "BatchNormTraining", "BatchNormInference",
                                    "BatchNormSums",   "ElemtBackward",     "ForwardTraining",
                                    "ForwardGiven",    "GatherStats",       "LayerNormForward",
                                    "RmsNormForward"};
  return kNames[static_cast<int>(form)];
}

bool is_batch_norm(Form form) { return is_channel_norm(op_of(form)); }

Problem layout(Form form, Format data, std::vector<std::int64_t> shape, bool same_parameters) {
  if (form == Form::kGatherStats) return gather_stats_layout(data, shape);
  Problem p;
  p.op = op_of(form);
  p.training = form != Form::kBatchNormInference && form != Form::kForwardGiven;
  if (form == Form::kBatchNormInference || p.big_output() == kY) p.eps = 1e-5;
  if (form == Form::kForwardTraining) p.momentum = 0.1;
  for (const Slot slot : big_tensors_of(form)) p.tensor[slot] = contiguous(data, shape);
  const std::int64_t size = is_batch_norm(form) ? shape[1] : shape.back();
  for (const Slot slot : parameters_of(form)) {
    p.tensor[slot] = contiguous(same_parameters ? data : Format::kF32, {size});
  }
  const std::vector<std::int64_t> leading(shape.begin(), shape.end() - 1);
  for (const Slot slot : statistics_of(form)) {
    p.tensor[slot] =
        contiguous(Format::kF32, is_batch_norm(form) ? std::vector<std::int64_t>{size} : leading);
  }
  if (p.op == Op::kElemtBackward) p.tensor[kCounts] = contiguous(Format::kI32, {2});
  return p;
}

Problem example(Form form, Format data, std::vector<std::int64_t> shape, std::uint64_t seed,
                DataClass data_class) {
  Problem p = layout(form, data, std::move(shape));
  Random random(seed);
  fill(p, data_class, random);
  return p;
}

std::string title(const Problem& problem) {
  return std::string(name(problem.op)) + " " +
         describe(problem.tensor[problem.op == Op::kGatherStats ? kMean : problem.big_input()]);
}

}  // namespace ops_test
