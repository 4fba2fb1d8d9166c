#include "concurrency/infiniop_call.h"

#include <algorithm>
#include <random>

namespace concurrency_test {

InfiniopCall::InfiniopCall(const api_test::Operator& op, const std::vector<std::size_t>& shape,
                           unsigned seed)
    : op_(op) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(0.5f, 2.0f);  // some are variances
  for (const api_test::TensorSpec& spec : api_test::specs_for(op, shape)) {
    tensors_.emplace_back(spec.elements());
    std::generate(tensors_.back().begin(), tensors_.back().end(), [&] { return value(random); });
  }
}

infiniStatus_t InfiniopCall::run(InfiniopDescriptor* descriptor, std::size_t workspace_bytes) {
  workspace_.resize(workspace_bytes);
  forget_outputs();  // running statistics are inputs, too
  std::vector<void*> data;
  for (Floats& tensor : tensors_) data.push_back(tensor.data());
  return op_.compute(descriptor, workspace_.data(), workspace_.size(), data.data());
}

void InfiniopCall::forget_outputs() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (op_.arguments[i].output) std::fill(tensors_[i].begin(), tensors_[i].end(), -1.0f);
  }
}

std::vector<InfiniopCall::Floats> InfiniopCall::outputs() const {
  std::vector<Floats> out;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (op_.arguments[i].output) out.push_back(tensors_[i]);
  }
  return out;
}

}  // namespace concurrency_test
