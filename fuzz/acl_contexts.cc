// The device and contexts in a program of ACL calls.
#include "acl_program.h"
#include "acl_status.h"

namespace fuzz {

int AclProgram::on_context(void* handle) const {
  if (handle == nullptr) return kNull;
  return slots_.is_alive(handle, Kind::kContext) ? ACL_SUCCESS : kDead;
}

void AclProgram::enter_context(void* handle) {
  current_ = handle;
  expect_status("aclrtCtxGetCurrentDefaultStream",
                aclrtCtxGetCurrentDefaultStream(&default_stream_[handle]), ACL_SUCCESS);
}

// Its streams and events go with it; the thread that worked in it has none.
void AclProgram::lose_context(void* handle) {
  for (const auto& [owned, owner] : owner_) {
    if (owner == handle) slots_.die(owned);
  }
  std::erase_if(owner_, [&](const auto& entry) { return entry.second == handle; });
  default_stream_.erase(handle);
  slots_.die(handle);
  if (current_ == handle) current_ = nullptr;
  if (primary_ == handle) primary_ = nullptr;
}

void AclProgram::lose_everything() {
  while (!default_stream_.empty()) lose_context(default_stream_.begin()->first);
  references_ = 0;
  pending_ = late_ = false;
}

void AclProgram::device() {
  const int number = bytes_.one_in(8) ? static_cast<std::int8_t>(bytes_.byte()) | 1 : 0;
  const int exists = number == 0 ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_DEVICEID;
  switch (bytes_.below(4)) {
    case 0:
    case 1:
      expect_status("aclrtSetDevice", aclrtSetDevice(number), exists);
      if (exists != ACL_SUCCESS) return;
      current_ = primary_;
      if (references_++ > 0) return;
      expect_status("aclrtGetCurrentContext", aclrtGetCurrentContext(&primary_), ACL_SUCCESS);
      put(Kind::kContext, primary_);
      return enter_context(primary_);
    case 2: {
      const bool force = bytes_.one_in(2);
      int expected = exists;
      if (expected == ACL_SUCCESS && references_ == 0) {
        expected = ACL_ERROR_RT_CONTEXT_RELEASE_ERROR;
      }
      const int code = force ? aclrtResetDeviceForce(number) : aclrtResetDevice(number);
      if (!waited("aclrtResetDevice", code, expected)) return;
      references_ = force ? 0 : references_ - 1;
      if (references_ == 0) lose_context(primary_);
      return;
    }
    default: {
      const int code = aclrtSynchronizeDevice();
      if (waited("aclrtSynchronizeDevice", code, in_context())) pending_ = late_ = false;
    }
  }
}

void AclProgram::context() {
  switch (bytes_.below(4)) {
    case 0: {
      const bool given = !bytes_.one_in(8), exists = !bytes_.one_in(8);
      void* made = nullptr;
      const int code = aclrtCreateContext(given ? &made : nullptr, exists ? 0 : -1);
      expect_status("aclrtCreateContext", code,
                    !given   ? kNull
                    : exists ? ACL_SUCCESS
                             : ACL_ERROR_RT_INVALID_DEVICEID);
      if (code != ACL_SUCCESS) return;
      put(Kind::kContext, made);
      return enter_context(made);
    }
    case 1: {
      void* const handle = pick(Kind::kContext);
      const int expected = on_context(handle);
      expect_status("aclrtSetCurrentContext", aclrtSetCurrentContext(handle), expected);
      if (expected == ACL_SUCCESS) current_ = handle;
      return;
    }
    case 2: {
      void* const handle = pick(Kind::kContext);
      int expected = on_context(handle);
      if (expected == ACL_SUCCESS && handle == primary_) expected = ACL_ERROR_RT_PARAM_INVALID;
      const int code = aclrtDestroyContext(handle);
      if (waited("aclrtDestroyContext", code, expected)) lose_context(handle);
      return;
    }
    default: {
      void* current = nullptr;
      const bool given = !bytes_.one_in(8);
      const int code = aclrtGetCurrentContext(given ? &current : nullptr);
      expect_status("aclrtGetCurrentContext", code, given ? in_context() : kNull);
      expect(code != ACL_SUCCESS || current == current_, "another context is current");
    }
  }
}

}  // namespace fuzz
