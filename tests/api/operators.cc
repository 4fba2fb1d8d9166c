#include "api/operators.h"

#include <cctype>
#include <numeric>

#include "normgrad/last_error.h"

namespace api_test {

std::size_t TensorSpec::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::size_t TensorSpec::span() const {
  std::size_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * static_cast<std::size_t>(strides[d]);
  }
  return last + 1;
}

std::size_t bytes_of(infiniDtype_t dtype) { return dtype == INFINI_DTYPE_F32 ? 4 : 2; }

TensorSpec contiguous(std::vector<std::size_t> shape, infiniDtype_t dtype) {
  std::vector<std::ptrdiff_t> strides(shape.size());
  std::ptrdiff_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<std::ptrdiff_t>(shape[d]);
  }
  return {std::move(shape), std::move(strides), dtype};
}

std::vector<TensorSpec> specs_for(const Operator& op, const std::vector<std::size_t>& shape,
                                  infiniDtype_t dtype) {
  std::vector<TensorSpec> specs;
  for (const Argument& argument : op.arguments) {
    std::vector<std::size_t> extents = shape;
    if (argument.form == Form::kPerRow) extents.pop_back();
    if (argument.form == Form::kVector) {
      extents = {op.vector_dim == 1 ? shape.at(1) : shape.back()};
    }
    specs.push_back(contiguous(extents, dtype));
  }
  return specs;
}

TensorDescriptors::TensorDescriptors(const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    infiniopTensorDescriptor_t descriptor = nullptr;
    EXPECT_EQ(infiniopCreateTensorDescriptor(&descriptor, spec.shape.size(), spec.shape.data(),
                                             spec.strides.data(), spec.dtype),
              INFINI_STATUS_SUCCESS);
    descriptors_.push_back(descriptor);
  }
  created_ = descriptors_;
}

TensorDescriptors::~TensorDescriptors() {
  for (const infiniopTensorDescriptor_t descriptor : created_) {
    EXPECT_EQ(infiniopDestroyTensorDescriptor(descriptor), INFINI_STATUS_SUCCESS);
  }
}

Descriptor::Descriptor(const Operator& op, const std::vector<TensorSpec>& specs,
                       bool optional_left_out)
    : op_(op) {
  const Handle handle;
  TensorDescriptors tensors(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (optional_left_out && op.arguments[i].optional) tensors[i] = nullptr;
  }
  EXPECT_EQ(op.create(handle.get(), &descriptor_, tensors.data()), INFINI_STATUS_SUCCESS)
      << normgradGetLastError();
}

std::size_t Descriptor::workspace_size() const {
  std::size_t size = 0;
  EXPECT_EQ(op_.workspace_size(descriptor_, &size), INFINI_STATUS_SUCCESS);
  return size;
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

testing::AssertionResult fails_with(infiniStatus_t expected, infiniStatus_t status,
                                    const std::string& function, const std::string& argument) {
  const std::string sentence = normgradGetLastError();
  if (status != expected) {
    return testing::AssertionFailure() << function << " returned " << status << " instead of "
                                       << expected << "; last error: " << sentence;
  }
  if (!names(sentence, function) || !names(sentence, argument)) {
    return testing::AssertionFailure()
           << "\"" << sentence << "\" does not name " << function << " and " << argument;
  }
  return testing::AssertionSuccess();
}

}  // namespace api_test
