// What the smallest aclnn programs share, so that each shows mainly its operator: a device, tensors
// in its memory, the second phase of an operator, and the comparison with numbers derived by hand.
// aclnn_batch_norm_backward.cpp does all of it without this file.
#ifndef NORMGRAD_EXAMPLES_ACL_EXAMPLE_H
#define NORMGRAD_EXAMPLES_ACL_EXAMPLE_H

#include <acl/acl.h>
#include <aclnn/aclnn_base.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace example {

// For calls that are expected to succeed.
inline void must(int code) {
  if (code == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "error %d: %s\n", code, message != nullptr ? message : "");
  std::exit(1);
}

// ACL, from the first call to the last; one in a program, before everything else.
class Session {
 public:
  Session() { must(aclInit(nullptr)); }
  ~Session() { must(aclFinalize()); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// The device of the calling thread, and a stream on it.
class Device {
 public:
  typedef aclnnStatus (*Phase2)(void*, uint64_t, aclOpExecutor*, aclrtStream);

  explicit Device(int32_t id = 0) : id_(id), stream_(nullptr) {
    must(aclrtSetDevice(id_));
    must(aclrtCreateStream(&stream_));
  }
  ~Device() {
    must(aclrtDestroyStream(stream_));
    must(aclrtResetDevice(id_));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  aclrtStream stream() const { return stream_; }

  // The second phase, with the workspace that the first one asked for, and the wait for its end.
  void run(Phase2 compute, uint64_t workspace_bytes, aclOpExecutor* executor) const {
    void* workspace = nullptr;
    if (workspace_bytes > 0) {
      must(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    must(compute(workspace, workspace_bytes, executor, stream_));
    must(aclrtSynchronizeStream(stream_));
    if (workspace != nullptr) must(aclrtFree(workspace));
  }

 private:
  int32_t id_;
  aclrtStream stream_;
};

// A contiguous f32 tensor with elements, in device memory.
class Tensor {
 public:
  Tensor(const std::vector<int64_t>& shape, const std::vector<float>& values)
      : count_(values.size()), address_(nullptr) {
    must(aclrtMalloc(&address_, bytes(), ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMemcpy(address_, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
    tensor_ = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                              shape.data(), shape.size(), address_);
    if (tensor_ == nullptr) must(ACL_ERROR_FAILURE);
  }
  // For an output: holds a number that no example expects, until it is computed.
  explicit Tensor(const std::vector<int64_t>& shape)
      : Tensor(shape, std::vector<float>(elements(shape), -77.0f)) {}
  ~Tensor() {
    must(aclDestroyTensor(tensor_));
    must(aclrtFree(address_));
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  operator aclTensor*() const { return tensor_; }

  std::vector<float> values() const {
    std::vector<float> host(count_);
    must(aclrtMemcpy(host.data(), bytes(), address_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
    return host;
  }

 private:
  static std::size_t elements(const std::vector<int64_t>& shape) {
    std::size_t count = 1;
    for (int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  std::size_t bytes() const { return count_ * sizeof(float); }

  std::size_t count_;
  void* address_;
  aclTensor* tensor_;
};

// Prints a result; how many of its elements differ from those derived by hand.
inline int wrong(const char* name, const std::vector<float>& got,
                 const std::vector<float>& expected) {
  int count = got.size() == expected.size() ? 0 : 1;
  std::printf("%-12s", name);
  for (std::size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    std::printf(" %6g", static_cast<double>(got[i]));
    if (got[i] != expected[i]) {
      std::printf(" (wrong: by hand %g)", static_cast<double>(expected[i]));
      ++count;
    }
  }
  std::printf("\n");
  return count;
}
inline int wrong(const char* name, const Tensor& got, const std::vector<float>& expected) {
  return wrong(name, got.values(), expected);
}

}  // namespace example

#endif
