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
      return {kMean, kRstd};
    case Form::kBatchNormInference:
      return {kMean, kVar};
  }
  return {};
}

}  // namespace

const char* name(Form form) {
  constexpr const char* kNames[] = {"LayerNormOfXHat", "LayerNormOfX",      "RmsNorm",
                                    "RmsNormOfRstd",   "BatchNormTraining", "BatchNormInference"};
  return kNames[static_cast<int>(form)];
}

bool is_batch_norm(Form form) {
  return form == Form::kBatchNormTraining || form == Form::kBatchNormInference;
}

Problem layout(Form form, Format data, std::vector<std::int64_t> shape, bool same_parameters) {
  Problem p;
  const bool layer_norm = form == Form::kLayerNormOfXHat || form == Form::kLayerNormOfX;
  p.op = is_batch_norm(form) ? Op::kBatchNorm : layer_norm ? Op::kLayerNorm : Op::kRmsNorm;
  p.training = form != Form::kBatchNormInference;
  p.eps = is_batch_norm(form) && !p.training ? 1e-5 : 0;
  for (const Slot slot : {kDx, kDy, form == Form::kLayerNormOfXHat ? kXHat : kX}) {
    p.tensor[slot] = contiguous(data, shape);
  }
  const std::int64_t size = is_batch_norm(form) ? shape[1] : shape.back();
  for (const Slot slot : {kDw, kDb, kW}) {
    p.tensor[slot] = contiguous(same_parameters ? data : Format::kF32, {size});
  }
  if (p.op == Op::kRmsNorm) p.tensor[kDb] = {};
  const std::vector<std::int64_t> leading(shape.begin(), shape.end() - 1);
  for (const Slot slot : statistics_of(form)) {
    p.tensor[slot] =
        contiguous(Format::kF32, is_batch_norm(form) ? std::vector<std::int64_t>{size} : leading);
  }
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
  return std::string(name(problem.op)) + " " + describe(problem.tensor[kDy]);
}

}  // namespace ops_test
