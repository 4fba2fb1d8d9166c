#include "acl_program.h"

#include <aclnn/acl_meta.h>

#include "acl_status.h"

namespace fuzz {

AclProgram::AclProgram(Bytes& bytes) : bytes_(bytes), slots_(bytes) {
  // A process that was never initialized may be finalized once; from then on it is as any other.
  static const bool once = [] {
    aclInit(nullptr);
    return aclFinalize() == ACL_SUCCESS;
  }();
  expect(once, "aclFinalize failed");
}

void AclProgram::step() {
  switch (bytes_.below(16)) {
    case 0:
      return begin_or_end();
    case 1:
      return device();
    case 2:
      return create_stream();
    case 3:
    case 4:
      return use_stream();
    case 5:
    case 6:
      return use_event();
    case 7:
      return memory();
    case 8:
      return mask();
    case 9:
    case 10:
      return tensor();
    case 11:
    case 12:
      return first_phase();
    case 13:
    case 14:
      return second_phase();
    default:
      return use_executor();
  }
}

void AclProgram::lose_device() {
  references_ = 0;
  default_stream_ = nullptr;
  slots_.die(Kind::kStream);
  slots_.die(Kind::kEvent);
}

int AclProgram::on_stream(void* handle) const {
  if (!has_context()) return kNoContext;
  return handle == nullptr || is_stream(handle) ? ACL_SUCCESS : kDead;
}

// The default stream may have the address of one that died before.
bool AclProgram::is_stream(void* handle) const {
  return handle == default_stream_ || slots_.is_alive(handle, Kind::kStream);
}

int AclProgram::on_event(void* handle) const {
  if (handle == nullptr) return kNull;
  return slots_.is_alive(handle, Kind::kEvent) ? ACL_SUCCESS : kDead;
}

void AclProgram::begin_or_end() {
  switch (bytes_.below(4)) {
    case 0:
    case 1:
      expect_status("aclInit", aclInit(nullptr),
                    initializations_ > 0 ? ACL_ERROR_REPEAT_INITIALIZE : ACL_SUCCESS);
      ++initializations_;
      finalized_ = false;
      return;
    case 2: {
      std::uint64_t left = 99;
      const int code = aclFinalizeReference(&left);
      const bool counted = initializations_ > 0;
      expect_status("aclFinalizeReference", code,
                    counted ? ACL_SUCCESS : ACL_ERROR_REPEAT_FINALIZE);
      expect(left == (counted ? initializations_ - 1 : 99), "aclFinalizeReference: wrong count");
      if (!counted || --initializations_ > 0) return;
      finalized_ = true;
      return lose_device();
    }
    default:
      expect_status("aclFinalize", aclFinalize(),
                    finalized_ ? ACL_ERROR_REPEAT_FINALIZE : ACL_SUCCESS);
      if (finalized_) return;
      finalized_ = true;
      initializations_ = 0;
      lose_device();
  }
}

void AclProgram::device() {
  const int number = bytes_.one_in(8) ? static_cast<std::int8_t>(bytes_.byte()) | 1 : 0;
  const bool exists = number == 0;
  switch (bytes_.below(4)) {
    case 0:
    case 1:
      expect_status("aclrtSetDevice", aclrtSetDevice(number),
                    exists ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_DEVICEID);
      if (exists && references_++ == 0) {
        expect_status("aclrtCtxGetCurrentDefaultStream",
                      aclrtCtxGetCurrentDefaultStream(&default_stream_), ACL_SUCCESS);
      }
      return;
    case 2: {
      const bool force = bytes_.one_in(2);
      const int code = force ? aclrtResetDeviceForce(number) : aclrtResetDevice(number);
      expect_status("aclrtResetDevice", code,
                    !exists            ? ACL_ERROR_RT_INVALID_DEVICEID
                    : references_ == 0 ? ACL_ERROR_RT_CONTEXT_RELEASE_ERROR
                                       : ACL_SUCCESS);
      if (code != ACL_SUCCESS) return;
      if (force || references_ == 1) return lose_device();
      --references_;
      return;
    }
    default:
      expect_status("aclrtSynchronizeDevice", aclrtSynchronizeDevice(),
                    has_context() ? ACL_SUCCESS : kNoContext);
  }
}

void AclProgram::create_stream() {
  const bool given = !bytes_.one_in(8);
  void* made = nullptr;
  const int code = aclrtCreateStream(given ? &made : nullptr);
  expect_status("aclrtCreateStream", code,
                !given          ? kNull
                : has_context() ? ACL_SUCCESS
                                : kNoContext);
  if (code == ACL_SUCCESS) slots_.put(Kind::kStream, bytes_.below(kCount), made);
}

void AclProgram::use_stream() {
  void* const stream = slots_.pick(Kind::kStream);
  switch (bytes_.below(4)) {
    case 0: {
      const int code =
          bytes_.one_in(2) ? aclrtDestroyStreamForce(stream) : aclrtDestroyStream(stream);
      expect_status("aclrtDestroyStream", code,
                    stream == nullptr                            ? kNull
                    : has_context() && stream == default_stream_ ? ACL_ERROR_RT_PARAM_INVALID
                                                                 : on_stream(stream));
      if (code == ACL_SUCCESS) slots_.die(stream);
      return;
    }
    case 1: {
      aclrtStreamStatus status;
      const bool given = !bytes_.one_in(8);
      return expect_status("aclrtStreamQuery", aclrtStreamQuery(stream, given ? &status : nullptr),
                           given ? on_stream(stream) : kNull);
    }
    default:
      return expect_status("aclrtSynchronizeStream", aclrtSynchronizeStream(stream),
                           on_stream(stream));
  }
}

void AclProgram::use_event() {
  void* const event = slots_.pick(Kind::kEvent);
  switch (bytes_.below(6)) {
    case 0: {
      void* made = nullptr;
      const int code = aclrtCreateEvent(&made);
      expect_status("aclrtCreateEvent", code, has_context() ? ACL_SUCCESS : kNoContext);
      if (code == ACL_SUCCESS) slots_.put(Kind::kEvent, bytes_.below(kCount), made);
      return;
    }
    case 1: {
      const int code = aclrtDestroyEvent(event);
      expect_status("aclrtDestroyEvent", code, on_event(event));
      if (code == ACL_SUCCESS) slots_.die(event);
      return;
    }
    case 2: {
      void* const stream = slots_.pick(Kind::kStream);
      const int expected = on_event(event) != ACL_SUCCESS ? on_event(event) : on_stream(stream);
      return expect_status("aclrtRecordEvent", aclrtRecordEvent(event, stream), expected);
    }
    case 3: {
      void* const stream = slots_.pick(Kind::kStream);
      const int expected = event == nullptr                   ? kNull
                           : on_stream(stream) != ACL_SUCCESS ? on_stream(stream)
                                                              : on_event(event);
      return expect_status("aclrtStreamWaitEvent", aclrtStreamWaitEvent(stream, event), expected);
    }
    case 4: {
      aclrtEventRecordedStatus status;
      return expect_status("aclrtQueryEventStatus", aclrtQueryEventStatus(event, &status),
                           on_event(event));
    }
    default:
      return expect_status("aclrtSynchronizeEvent", aclrtSynchronizeEvent(event), on_event(event));
  }
}

void AclProgram::memory() {
  if (bytes_.one_in(2)) {
    void* made = nullptr;
    const std::size_t size = bytes_.byte();
    const int code = aclrtMalloc(&made, size, ACL_MEM_MALLOC_HUGE_FIRST);
    expect_status("aclrtMalloc", code,
                  size == 0       ? kNull
                  : has_context() ? ACL_SUCCESS
                                  : kNoContext);
    if (code == ACL_SUCCESS) slots_.put(Kind::kMemory, bytes_.below(kCount), made);
    return;
  }
  void* const address = slots_.pick(Kind::kMemory);
  const int code = aclrtFree(address);
  expect_status("aclrtFree", code,
                address == nullptr                        ? kNull
                : slots_.is_alive(address, Kind::kMemory) ? ACL_SUCCESS
                                                          : ACL_ERROR_RT_PARAM_INVALID);
  if (code == ACL_SUCCESS) slots_.die(address);
}

void AclProgram::end() {
  if (references_ == 0) {
    expect_status("aclrtSetDevice", aclrtSetDevice(0), ACL_SUCCESS);
    references_ = 1;
  }
  const auto release = [&](Kind kind, auto&& destroy) {
    while (void* handle = slots_.any(kind)) {
      expect_code("at the end, destroying", destroy(handle), 0);
      slots_.die(handle);
    }
  };
  release(Kind::kExecutor,
          [](void* h) { return aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(h)); });
  release(Kind::kTensor, [](void* h) { return aclDestroyTensor(static_cast<aclTensor*>(h)); });
  release(Kind::kMask, [](void* h) { return aclDestroyBoolArray(static_cast<aclBoolArray*>(h)); });
  release(Kind::kEvent, [](void* h) { return aclrtDestroyEvent(h); });
  release(Kind::kStream, [](void* h) { return aclrtDestroyStream(h); });
  release(Kind::kMemory, [](void* h) { return aclrtFree(h); });
  if (finalized_) expect_status("aclInit", aclInit(nullptr), ACL_SUCCESS);
  expect_status("aclFinalize", aclFinalize(), ACL_SUCCESS);
}

}  // namespace fuzz
