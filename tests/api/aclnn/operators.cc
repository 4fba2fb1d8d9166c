#include "api/aclnn/operators.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "normgrad/last_error.h"

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

const std::vector<const Operator*>& operators() {
  static const std::vector<const Operator*> all = {&batch_norm(),
                                                   &batch_norm_backward(),
                                                   &fast_batch_norm_backward(),
                                                   &reduce_backward(),
                                                   &elemt(),
                                                   &elemt_backward(),
                                                   &stats(),
                                                   &gather_stats()};
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

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<Spec> specs_for(const Operator& op, const std::vector<int64_t>& shape,
                            aclDataType dtype, aclFormat format, std::size_t axis) {
  const int64_t channels = shape.at(axis);
  const int64_t devices = 2;
  std::vector<Spec> specs;
  for (const Argument& argument : op.arguments) {
    switch (argument.form) {
      case Form::kData:
        specs.push_back({shape, dtype, format});
        break;
      case Form::kChannels:
        specs.push_back({{channels}, dtype, format});
        break;
      case Form::kTable:
        specs.push_back({{devices, channels}, dtype, format});
        break;
      case Form::kDevices:
        specs.push_back(
            {{devices}, dtype == ACL_BF16 && op.has("counter") ? ACL_FLOAT : dtype, format});
        break;
    }
  }
  return specs;
}

namespace {

// Bytes for the tensor, rounded up to doubles, if that is a sane number.
std::size_t doubles_for(const Spec& spec) {
  double elements = 1;
  for (const int64_t extent : spec.storage.empty() ? spec.shape : spec.storage) {
    elements *= static_cast<double>(extent);
  }
  const bool sane = elements > 0 && elements < 1e6;
  return std::max(Tensors::kMinDoubles, sane ? static_cast<std::size_t>(elements) : 0);
}

}  // namespace

Tensors::Tensors(const std::vector<Spec>& specs) {
  for (const Spec& spec : specs) memory_.emplace_back(doubles_for(spec), 7.25);
  copy_ = memory_;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Spec& spec = specs[i];
    const auto& storage = spec.storage.empty() ? spec.shape : spec.storage;
    tensors_.push_back(aclCreateTensor(spec.shape.data(), spec.shape.size(), spec.dtype,
                                       spec.strides.empty() ? nullptr : spec.strides.data(),
                                       spec.offset, spec.format, storage.data(), storage.size(),
                                       memory_[i].data()));
    EXPECT_NE(tensors_.back(), nullptr) << normgradGetLastError();
  }
  created_ = tensors_;
}

Tensors::~Tensors() {
  for (aclTensor* tensor : created_) EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

void Tensors::fill(std::size_t i, const std::vector<float>& values) {
  std::memcpy(memory_[i].data(), values.data(), values.size() * sizeof(float));
  copy_[i] = memory_[i];
}

bool Tensors::untouched() const { return memory_ == copy_; }

Mask::Mask(const std::vector<bool>& values) {
  bool copy[16] = {};
  std::copy(values.begin(), values.end(), copy);
  mask_ = aclCreateBoolArray(copy, values.size());
  EXPECT_NE(mask_, nullptr);
}

Session::Session() {
  EXPECT_EQ(aclrtSetDevice(0), 0);
  EXPECT_EQ(aclrtCreateStream(&stream_), 0);
}

Session::~Session() {
  EXPECT_EQ(aclrtDestroyStream(stream_), 0);
  EXPECT_EQ(aclrtResetDevice(0), 0);
}

Prepared::Prepared(const Operator& op, aclTensor* const* tensors, const Attributes& attributes)
    : op_(op) {
  static const Mask mask({true, true, true});
  Attributes complete = attributes;
  if (complete.mask == nullptr) complete.mask = mask.get();
  EXPECT_EQ(op.phase_one(tensors, complete, &workspace_size, &executor), 0)
      << normgradGetLastError();
  workspace_.resize(workspace_size);
}

bool is_910b() {
  const char* soc = std::getenv("NORMGRAD_SOC");
  return soc != nullptr && std::strcmp(soc, "Ascend910B") == 0;
}

bool is_inline() {
  const char* mode = std::getenv("NORMGRAD_STREAMS");
  return mode == nullptr || std::strcmp(mode, "inline") == 0;
}

bool names(const std::string& sentence, const std::string& word) {
  const auto is_part = [&](std::size_t i) {
    return i < sentence.size() &&
           (std::isalnum(static_cast<unsigned char>(sentence[i])) != 0 || sentence[i] == '_');
  };
  for (auto at = sentence.find(word); at != std::string::npos; at = sentence.find(word, at + 1)) {
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

testing::AssertionResult fails_with(int expected, int code, const std::string& function,
                                    const std::string& argument) {
  const std::string sentence = normgradGetLastError();
  const char* recent = aclGetRecentErrMsg();
  if (code != expected) {
    return testing::AssertionFailure() << function << " returned " << code << " instead of "
                                       << expected << "; last error: " << sentence;
  }
  if (!names(sentence, function) || !names(sentence, argument)) {
    return testing::AssertionFailure()
           << "\"" << sentence << "\" does not name " << function << " and " << argument;
  }
  const std::string title = code / 1000 == 161   ? "EZ1001"
                            : code / 1000 == 361 ? "EZ9903"
                            : code / 1000 == 561 ? "EZ9999"
                                                 : std::to_string(code);
  const std::string message = recent == nullptr ? "" : recent;
  if (message.find(title) == std::string::npos || message.find(sentence) == std::string::npos) {
    return testing::AssertionFailure() << "aclGetRecentErrMsg: \"" << message << "\" lacks "
                                       << title << " or \"" << sentence << "\"";
  }
  return testing::AssertionSuccess();
}

}  // namespace aclnn_test
