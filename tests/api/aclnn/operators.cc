#include "api/aclnn/operators.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "normgrad/last_error.h"

namespace aclnn_test {
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<Spec> specs_for(const Operator& op, const std::vector<int64_t>& shape,
                            aclDataType dtype, aclFormat format, std::size_t axis) {
  const int64_t channels = op.is_row_norm ? 0 : shape.at(axis);
  const int64_t devices = 2;
  std::vector<Spec> specs;
  for (const Argument& argument : op.arguments) {
    switch (argument.form) {
      case Form::kData:
        specs.push_back({shape, argument.is_float ? ACL_FLOAT : dtype, format});
        break;
      case Form::kChannels:
        specs.push_back({{channels}, dtype, format});
        break;
      case Form::kRow:
        specs.push_back({{shape.back()}, argument.is_float ? ACL_FLOAT : dtype, format});
        break;
      case Form::kGroups:
        specs.push_back({{shape[0], channels}, dtype, format});
        break;
      case Form::kSegments: {
        std::vector<int64_t> segments = shape;
        segments.erase(segments.end() - 2);
        specs.push_back({segments, dtype, format});
        break;
      }
      case Form::kPerRow:
        specs.push_back(
            {{shape.begin(), shape.end() - 1}, argument.is_float ? ACL_FLOAT : dtype, format});
        break;
      case Form::kTable:
        specs.push_back({{devices, channels}, dtype, format});
        break;
      case Form::kDevices:
        specs.push_back(
            {{devices},
             dtype == ACL_BF16 && (op.has("counter") || op.has("sampleCount")) ? ACL_FLOAT : dtype,
             format});
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

Prepared::Prepared(const Operator& op, aclTensor* const* tensors, const Attributes& attributes,
                   bool has_sizes)
    : op_(op) {
  Attributes complete = attributes;
  if (!has_sizes && op.arguments.front().form == Form::kData && tensors[0] != nullptr) {
    std::int64_t* extents = nullptr;
    std::uint64_t rank = 0;
    EXPECT_EQ(aclGetViewShape(tensors[0], &extents, &rank), 0);
    const Attributes sizes = attributes_for({extents, extents + rank});
    delete[] extents;
    complete.n = sizes.n, complete.c = sizes.c, complete.l = sizes.l, complete.group = sizes.group;
  }
  if (complete.mask == nullptr) complete.mask = all_wanted();
  if (complete.normalized == nullptr) complete.normalized = row_of_four();
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
