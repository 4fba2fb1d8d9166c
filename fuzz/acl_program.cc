#include "acl_program.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_batch_norm_backward_reduce.h>
#include <aclnnop/aclnn_batch_norm_stats.h>

#include <limits>

namespace fuzz {
namespace {

constexpr int kNull = ACL_ERROR_INVALID_PARAM, kDead = ACL_ERROR_RT_INVALID_HANDLE,
              kNoContext = ACL_ERROR_RT_CONTEXT_NULL;
constexpr int kNullPointer = 161001, kInvalid = 161002, kRuntime = 361001, kInner = 561000,
              kInnerNull = 561103;

// Tensors 0 and 1 have data, the others a number per channel; each has memory of its own.
constexpr std::int64_t kShape[] = {2, 3, 4};
constexpr std::size_t kData = 2;
float buffer[8][24];
alignas(64) std::uint8_t workspace[1 << 14];

void expect_status(const char* call, int got, int expected) {
  expect_code(call, got, expected);
  if (got != 0) expect(aclGetRecentErrMsg() != nullptr, std::string(call) + ": no sentence");
}

}  // namespace

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

void AclProgram::tensor() {
  if (bytes_.one_in(4)) {
    auto* const handle = static_cast<aclTensor*>(slots_.pick(Kind::kTensor));
    const bool right = handle == nullptr || slots_.is_alive(handle, Kind::kTensor);
    expect_status("aclDestroyTensor", aclDestroyTensor(handle), right ? 0 : kInvalid);
    if (right) slots_.die(handle);
    return;
  }
  const std::size_t slot = bytes_.below(kCount);
  const std::uint64_t rank = slot < kData ? 3 : 1;
  const std::int64_t* const shape = slot < kData ? kShape : kShape + 1;
  const bool shaped = !bytes_.one_in(16);
  aclTensor* const made = aclCreateTensor(shaped ? shape : nullptr, rank, ACL_FLOAT, nullptr, 0,
                                          ACL_FORMAT_ND, shape, rank, buffer[slot]);
  expect((made != nullptr) == shaped, "aclCreateTensor");
  if (made != nullptr) slots_.put(Kind::kTensor, slot, made);
}

void AclProgram::mask() {
  if (bytes_.one_in(2)) {
    const bool values[] = {true, false, true};
    aclBoolArray* const made = aclCreateBoolArray(values, bytes_.below(4));
    expect(made != nullptr, "aclCreateBoolArray");
    return slots_.put(Kind::kMask, bytes_.below(kCount), made);
  }
  auto* const handle = static_cast<aclBoolArray*>(slots_.pick(Kind::kMask));
  const bool alive = slots_.is_alive(handle, Kind::kMask);
  std::uint64_t size = 0;
  expect_status("aclGetBoolArraySize", aclGetBoolArraySize(handle, &size),
                handle == nullptr ? kNullPointer
                : alive           ? 0
                                  : kInvalid);
  expect_status("aclDestroyBoolArray", aclDestroyBoolArray(handle),
                handle == nullptr || alive ? 0 : kInvalid);
  if (alive) slots_.die(handle);
}

void AclProgram::first_phase() {
  const bool stats = bytes_.one_in(3), given = !bytes_.one_in(16);
  aclTensor* tensor[8];
  bool null = !given, dead = false, moved = false;
  for (std::size_t i = 0; i < 8; ++i) {
    const bool used = !stats || i == 1 || i == 2 || i == 3;
    if (!used) continue;
    void* const handle = slots_.pick(Kind::kTensor, i);
    tensor[i] = static_cast<aclTensor*>(handle);
    null = null || handle == nullptr;
    dead = dead || !slots_.is_alive(handle, Kind::kTensor);
    moved = moved || !slots_.is_of(handle, Kind::kTensor, i);
  }
  std::uint64_t size = 77;
  aclOpExecutor* made = nullptr;
  std::uint64_t* const size_at = given ? &size : nullptr;
  const int code = stats ? aclnnBatchNormStatsGetWorkspaceSize(tensor[1], 1e-5, tensor[2],
                                                               tensor[3], size_at, &made)
                         : aclnnBatchNormReduceBackwardGetWorkspaceSize(
                               tensor[0], tensor[1], tensor[2], tensor[3], nullptr, true, true,
                               true, tensor[4], tensor[5], tensor[6], tensor[7], size_at, &made);
  const char* const call = stats ? "aclnnBatchNormStatsGetWorkspaceSize"
                                 : "aclnnBatchNormReduceBackwardGetWorkspaceSize";
  if (!null && !dead && moved && code == kInvalid) {
    // A live tensor out of another slot: of the wrong shape, or its memory is another argument's.
    expect_status(call, code, kInvalid);
  } else {
    expect_status(call, code, null ? kNullPointer : dead ? kInvalid : 0);
  }
  if (code != 0) {
    expect(size == 77 && made == nullptr, std::string(call) + " wrote on refusal");
    return;
  }
  executors_[made] = {stats, false, size};
  slots_.put(Kind::kExecutor, bytes_.below(kCount), made);
}

void AclProgram::second_phase() {
  auto* const executor = static_cast<aclOpExecutor*>(slots_.pick(Kind::kExecutor));
  void* const stream = slots_.pick(Kind::kStream);
  const bool stats = bytes_.one_in(3), given = !bytes_.one_in(8), enough = !bytes_.one_in(8);
  const bool alive = slots_.is_alive(executor, Kind::kExecutor);
  const Executor what = alive ? executors_[executor] : Executor{false};
  const std::uint64_t size = enough || what.workspace == 0 ? what.workspace : what.workspace - 1;
  expect(what.workspace <= sizeof(workspace), "workspace of " + std::to_string(what.workspace));
  void* const memory = given ? workspace : nullptr;
  const int code = stats ? aclnnBatchNormStats(memory, size, executor, stream)
                         : aclnnBatchNormReduceBackward(memory, size, executor, stream);
  int expected = 0;
  if (executor == nullptr) {
    expected = kNullPointer;
  } else if (!alive || what.stats != stats) {
    expected = kInner;
  } else if (!given && what.workspace > 0) {
    expected = kNullPointer;
  } else if (size < what.workspace) {
    expected = kInvalid;
  } else if (stream == nullptr) {
    expected = has_context() ? 0 : kRuntime;
  } else {
    expected = is_stream(stream) ? 0 : kDead;
  }
  expect_status("phase 2", code, expected);
  if (!alive || what.stats != stats || what.repeatable) return;
  slots_.die(executor);
  executors_.erase(executor);
}

void AclProgram::use_executor() {
  auto* const executor = static_cast<aclOpExecutor*>(slots_.pick(Kind::kExecutor));
  const bool alive = slots_.is_alive(executor, Kind::kExecutor);
  const int expected = executor == nullptr ? kInnerNull : alive ? 0 : kInner;
  switch (bytes_.below(3)) {
    case 0:
      expect_status("aclSetAclOpExecutorRepeatable", aclSetAclOpExecutorRepeatable(executor),
                    expected);
      if (alive) executors_[executor].repeatable = true;
      return;
    case 1:
      expect_status("aclDestroyAclOpExecutor", aclDestroyAclOpExecutor(executor), expected);
      if (!alive) return;
      slots_.die(executor);
      executors_.erase(executor);
      return;
    default: {
      // Tensor 1 is input 1 of one operator and input 0 of the other; an index beyond all of them is refused.
      auto* const tensor = static_cast<aclTensor*>(slots_.pick(Kind::kTensor, 1));
      const bool beyond = bytes_.one_in(4);
      const std::size_t index = beyond ? std::numeric_limits<std::size_t>::max() - bytes_.below(8)
                                       : (alive && executors_[executor].stats ? 0 : 1);
      const int code = aclSetInputTensorAddr(executor, index, tensor, buffer[1]);
      const int of_tensor = tensor == nullptr                        ? kInnerNull
                            : slots_.is_alive(tensor, Kind::kTensor) ? 0
                                                                     : kInvalid;
      const int of_call = of_tensor != 0 ? of_tensor : beyond ? kInvalid : 0;
      expect_status("aclSetInputTensorAddr", code, expected != 0 ? expected : of_call);
    }
  }
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
