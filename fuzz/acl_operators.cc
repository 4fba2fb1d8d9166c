// Tensors, executors and the two phases of operators in a program of ACL calls.
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_batch_norm_backward_reduce.h>
#include <aclnnop/aclnn_batch_norm_stats.h>

#include <limits>

#include "acl_program.h"
#include "acl_status.h"

namespace fuzz {
namespace {

// Tensors 0 and 1 have data, the others a number per channel; each has memory of its own.
constexpr std::int64_t kShape[] = {2, 3, 4};
constexpr std::size_t kData = 2;
float buffer[8][24];
alignas(64) std::uint8_t workspace[1 << 14];

}  // namespace

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
  if (made == nullptr) return;
  slots_.put(Kind::kTensor, slot, made);
  moved_.erase(made);
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
    moved = moved || !slots_.is_of(handle, Kind::kTensor, i) || moved_.contains(handle);
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
    // A live tensor out of another slot: of the wrong shape.
    expect_status(call, code, kInvalid);
  } else {
    expect_status(call, code, null ? kNullPointer : dead ? kInvalid : 0);
  }
  if (code != 0) {
    expect(size == 77 && made == nullptr, std::string(call) + " wrote on refusal");
    return;
  }
  executors_[made] = {stats, false, size, moved};
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
  // Its memory may be another argument's, which shows in phase 2.
  if (expected == 0 && what.moved && code == kInvalid) expected = kInvalid;
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
      if (code == 0) moved_.insert(tensor);  // which has the address now, too
    }
  }
}

}  // namespace fuzz
