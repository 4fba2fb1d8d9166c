// One call of an aclnn operator as a client makes it: device memory, tensors, two phases.
#ifndef TESTS_ACLNN_CALL_H
#define TESTS_ACLNN_CALL_H

#include <acl/acl.h>
#include <aclnn/acl_meta.h>

#include <memory>
#include <string>

#include "aclnn/cases.h"
#include "ops/library.h"

namespace aclnn_test {

using ops_test::Outputs;

// A tensor's memory on the device, with guards around it and an image on the host.
class DeviceTensor {
 public:
  explicit DeviceTensor(const ops_test::TensorSpec& spec) : storage_(spec) {}
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor&) = delete;

  ops_test::Storage& storage() { return storage_; }
  bool upload();  // of the image; allocates the first time
  bool download();
  aclTensor* tensor(const ops_test::TensorSpec& spec, aclFormat format) const;

 private:
  ops_test::Storage storage_;
  void* memory_ = nullptr;
};

class Call {
 public:
  explicit Call(Case c);
  ~Call();

  const Case& what() const { return case_; }
  // Both phases; tensors are destroyed before it returns. "" or what went wrong.
  std::string start(aclrtStream stream);
  // When the stream has been synchronized: the outputs, and whether anything else was written.
  Outputs finish();
  // Everything as it was before start().
  bool reset();

 private:
  aclTensor* tensor(Slot slot);
  aclTensor* nans();
  void destroy_tensors();
  aclnnStatus first_phase(uint64_t* bytes, aclOpExecutor** executor);
  aclnnStatus second_phase(uint64_t bytes, aclOpExecutor* executor, aclrtStream stream);

  Case case_;
  std::array<std::shared_ptr<DeviceTensor>, ops_test::kSlotCount> memory_;
  std::vector<aclTensor*> tensors_;
  void* workspace_ = nullptr;
  uint64_t workspace_bytes_ = 0;
};

// What aclGetRecentErrMsg says, after `code`.
std::string complaint(const char* function, int code);

}  // namespace aclnn_test

#endif
