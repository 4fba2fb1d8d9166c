#include "acl_program.h"

#include <aclnn/acl_meta.h>

#include <algorithm>

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
  switch (bytes_.below(20)) {
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
    case 15:
      return use_executor();
    case 16:
    case 17:
      return context();
    default:
      return copy();
  }
}

int AclProgram::in_context() const { return has_context() ? ACL_SUCCESS : kNoContext; }

int AclProgram::on_stream(void* handle) const {
  if (!has_context()) return kNoContext;
  return handle == nullptr || is_stream(handle) ? ACL_SUCCESS : kDead;
}

// A default stream may have the address of one that died before.
bool AclProgram::is_stream(void* handle) const {
  const auto is_default = [&](const auto& entry) { return entry.second == handle; };
  return slots_.is_alive(handle, Kind::kStream) ||
         std::any_of(default_stream_.begin(), default_stream_.end(), is_default);
}

int AclProgram::on_event(void* handle) const {
  if (handle == nullptr) return kNull;
  return slots_.is_alive(handle, Kind::kEvent) ? ACL_SUCCESS : kDead;
}

// Not so if it is another context's default stream, which has no owner in the books.
bool AclProgram::is_of_current(void* handle) const {
  const auto found = owner_.find(handle);
  return found != owner_.end() && found->second == current_;
}

void AclProgram::lose(void* handle) {
  slots_.die(handle);
  owner_.erase(handle);
}

bool AclProgram::waited(const char* call, int code, int expected) {
  const bool failed = late_ && expected == ACL_SUCCESS && code == ACL_ERROR_RT_PARAM_INVALID;
  expect_status(call, code, failed ? code : expected);
  return expected == ACL_SUCCESS;
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
      waited("aclFinalizeReference", code, counted ? ACL_SUCCESS : ACL_ERROR_REPEAT_FINALIZE);
      expect(left == (counted ? initializations_ - 1 : 99), "aclFinalizeReference: wrong count");
      if (!counted || --initializations_ > 0) return;
      finalized_ = true;
      return lose_everything();
    }
    default:
      waited("aclFinalize", aclFinalize(), finalized_ ? ACL_ERROR_REPEAT_FINALIZE : ACL_SUCCESS);
      if (finalized_) return;
      finalized_ = true;
      initializations_ = 0;
      lose_everything();
  }
}

void AclProgram::create_stream() {
  const bool given = !bytes_.one_in(8);
  void* made = nullptr;
  const int code = aclrtCreateStream(given ? &made : nullptr);
  expect_status("aclrtCreateStream", code, given ? in_context() : kNull);
  if (code != ACL_SUCCESS) return;
  put(Kind::kStream, made);
  owner_[made] = current_;
}

void AclProgram::use_stream() {
  void* const stream = pick(Kind::kStream);
  switch (bytes_.below(4)) {
    case 0: {
      int expected = stream == nullptr ? kNull : on_stream(stream);
      if (expected == ACL_SUCCESS && stream == default_stream_[current_]) {
        expected = ACL_ERROR_RT_PARAM_INVALID;
      } else if (expected == ACL_SUCCESS && !is_of_current(stream)) {
        expected = ACL_ERROR_RT_STREAM_CONTEXT;
      }
      const int code =
          bytes_.one_in(2) ? aclrtDestroyStreamForce(stream) : aclrtDestroyStream(stream);
      if (waited("aclrtDestroyStream", code, expected)) lose(stream);
      return;
    }
    case 1: {
      aclrtStreamStatus status;
      const bool given = !bytes_.one_in(8);
      return expect_status("aclrtStreamQuery", aclrtStreamQuery(stream, given ? &status : nullptr),
                           given ? on_stream(stream) : kNull);
    }
    default:
      waited("aclrtSynchronizeStream", aclrtSynchronizeStream(stream), on_stream(stream));
  }
}

void AclProgram::use_event() {
  void* const event = pick(Kind::kEvent);
  switch (bytes_.below(6)) {
    case 0: {
      void* made = nullptr;
      const int code = aclrtCreateEvent(&made);
      expect_status("aclrtCreateEvent", code, in_context());
      if (code != ACL_SUCCESS) return;
      put(Kind::kEvent, made);
      owner_[made] = current_;
      return;
    }
    case 1: {
      const int code = aclrtDestroyEvent(event);
      expect_status("aclrtDestroyEvent", code, on_event(event));
      if (code == ACL_SUCCESS) lose(event);
      return;
    }
    case 2: {
      void* const stream = pick(Kind::kStream);
      const int expected = on_event(event) != ACL_SUCCESS ? on_event(event) : on_stream(stream);
      return expect_status("aclrtRecordEvent", aclrtRecordEvent(event, stream), expected);
    }
    case 3: {
      void* const stream = pick(Kind::kStream);
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
      waited("aclrtSynchronizeEvent", aclrtSynchronizeEvent(event), on_event(event));
  }
}

void AclProgram::end() {
  expect_status("aclrtSetDevice", aclrtSetDevice(0), ACL_SUCCESS);
  waited("aclrtSynchronizeDevice", aclrtSynchronizeDevice(), ACL_SUCCESS);
  const auto contexts = default_stream_;
  for (const auto& [context, stream] : contexts) {
    if (context == primary_) continue;
    expect_code("at the end, aclrtDestroyContext", aclrtDestroyContext(context), ACL_SUCCESS);
    lose_context(context);
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
