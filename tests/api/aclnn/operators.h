// What tests make of the table of operators: tensors, executors, expectations.
#ifndef TESTS_API_ACLNN_OPERATORS_H
#define TESTS_API_ACLNN_OPERATORS_H

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/aclnn/operator_table.h"

namespace aclnn_test {

// What a client says about a tensor.
struct Spec {
  std::vector<int64_t> shape;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_ND;
  std::vector<int64_t> strides = {};  // none: contiguous
  int64_t offset = 0;
  std::vector<int64_t> storage = {};  // none: as shape
};

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

// Arguments for data of this shape with the channels at `axis`, in two devices.
std::vector<Spec> specs_for(const Operator& op, const std::vector<int64_t>& shape,
                            aclDataType dtype = ACL_FLOAT, aclFormat format = ACL_FORMAT_ND,
                            std::size_t axis = 1);

// Tensors in host memory. Each has room for as many doubles as its storage has elements, and never
// for fewer than a few, whatever its spec says.
class Tensors {
 public:
  static constexpr std::size_t kMinDoubles = 512;

  explicit Tensors(const std::vector<Spec>& specs);
  ~Tensors();
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  aclTensor** data() { return tensors_.data(); }
  aclTensor*& operator[](std::size_t i) { return tensors_[i]; }
  float* values(std::size_t i) { return reinterpret_cast<float*>(memory_[i].data()); }
  void fill(std::size_t i, const std::vector<float>& values);
  bool untouched() const;  // by the operators; fill() does not count

 private:
  std::vector<aclTensor*> tensors_;
  std::vector<aclTensor*> created_;
  std::vector<std::vector<double>> memory_;
  std::vector<std::vector<double>> copy_;
};

class Mask {
 public:
  explicit Mask(const std::vector<bool>& values);
  ~Mask() { EXPECT_EQ(aclDestroyBoolArray(mask_), 0); }
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;
  const aclBoolArray* get() const { return mask_; }

 private:
  aclBoolArray* mask_ = nullptr;
};

// A device of this thread and a stream on it, for a scope.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  aclrtStream stream() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

bool is_910b();    // NORMGRAD_SOC=Ascend910B
bool is_inline();  // NORMGRAD_STREAMS is not set, or inline

// A call that has passed phase 1, with its workspace.
class Prepared {
 public:
  // The sizes are those of the first tensor, unless the attributes have them.
  Prepared(const Operator& op, aclTensor* const* tensors, const Attributes& attributes = {},
           bool has_sizes = false);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  int run(aclrtStream stream) { return run(executor, stream); }
  int run(aclOpExecutor* other, aclrtStream stream) {
    return op_.phase_two(workspace(), workspace_size, other, stream);
  }
  void* workspace() { return workspace_.empty() ? nullptr : workspace_.data(); }

  aclOpExecutor* executor = nullptr;
  uint64_t workspace_size = 0;

 private:
  const Operator& op_;
  std::vector<char> workspace_;
};

// Is `word` in the sentence, not as part of a longer identifier?
bool names(const std::string& sentence, const std::string& word);

// The code is `expected`, the last error names the function and the argument, and
// aclGetRecentErrMsg has it under the title that belongs to the code. Takes that message.
testing::AssertionResult fails_with(int expected, int code, const std::string& function,
                                    const std::string& argument);

// A value that no out-parameter may be left with after success, nor changed from after failure.
template <class T>
T* sentinel() {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(0x5EA7BEEF));
}

}  // namespace aclnn_test

#endif
