// What tests make of the table of operators: descriptors, expectations.
#ifndef TESTS_API_OPERATORS_H
#define TESTS_API_OPERATORS_H

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "api/operator_table.h"
#include "infinirt.h"

namespace api_test {

// What a client says about a tensor.
struct TensorSpec {
  std::vector<std::size_t> shape;
  std::vector<std::ptrdiff_t> strides;
  infiniDtype_t dtype;

  std::size_t elements() const;
  std::size_t span() const;  // elements from the first to the last; strides are not negative
};

std::size_t bytes_of(infiniDtype_t dtype);
TensorSpec contiguous(std::vector<std::size_t> shape, infiniDtype_t dtype = INFINI_DTYPE_F32);

// All arguments of `op` for data of this shape, contiguous.
std::vector<TensorSpec> specs_for(const Operator& op, const std::vector<std::size_t>& shape,
                                  infiniDtype_t dtype = INFINI_DTYPE_F32);

// Handles and descriptors that are destroyed, successfully, at the end of a scope.
class Handle {
 public:
  Handle() { EXPECT_EQ(infiniopCreateHandle(&handle_), INFINI_STATUS_SUCCESS); }
  ~Handle() { EXPECT_EQ(infiniopDestroyHandle(handle_), INFINI_STATUS_SUCCESS); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  infiniopHandle_t get() const { return handle_; }

 private:
  infiniopHandle_t handle_ = nullptr;
};

class TensorDescriptors {
 public:
  explicit TensorDescriptors(const std::vector<TensorSpec>& specs);
  ~TensorDescriptors();
  TensorDescriptors(const TensorDescriptors&) = delete;
  TensorDescriptors& operator=(const TensorDescriptors&) = delete;
  infiniopTensorDescriptor_t* data() { return descriptors_.data(); }
  infiniopTensorDescriptor_t& operator[](std::size_t i) { return descriptors_[i]; }

 private:
  std::vector<infiniopTensorDescriptor_t> descriptors_;
  std::vector<infiniopTensorDescriptor_t> created_;
};

// An operator descriptor, made from tensor descriptors that are dead by the time it is used.
class Descriptor {
 public:
  Descriptor(const Operator& op, const std::vector<TensorSpec>& specs,
             bool optional_left_out = false);
  ~Descriptor() { EXPECT_EQ(op_.destroy(descriptor_), INFINI_STATUS_SUCCESS); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  InfiniopDescriptor* get() const { return descriptor_; }
  std::size_t workspace_size() const;

 private:
  const Operator& op_;
  InfiniopDescriptor* descriptor_ = nullptr;
};

// Is `word` in the sentence, not as part of a longer identifier?
bool names(const std::string& sentence, const std::string& word);

// The code is `expected`, and the last error names the function and the argument.
testing::AssertionResult fails_with(infiniStatus_t expected, infiniStatus_t status,
                                    const std::string& function, const std::string& argument);

// A value that no out-parameter may be left with after success, nor changed from after failure.
template <class T>
T* sentinel() {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(0x5EA7BEEF));
}

}  // namespace api_test

#endif
