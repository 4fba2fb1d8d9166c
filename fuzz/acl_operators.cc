// Tensors, executors and the two phases of operators in a program of ACL calls.
#include <aclnn/acl_meta.h>

#include <algorithm>
#include <limits>

#include "acl_program.h"
#include "acl_status.h"

namespace fuzz {
namespace {

using aclnn::Api;
using aclnn::Form;

// Every slot of tensors holds one form, and has memory of its own.
constexpr std::int64_t kShape[] = {2, 3, 4};  // of data; the first two: of rows
constexpr std::size_t kFirstVector = 3, kFirstRow = 10, kCounts = 12;
float buffer[kCounts + 1][24];
alignas(64) std::uint8_t workspace[1 << 14];

// The slots of an operator's tensors: one after the other of each form.
std::vector<std::size_t> slots_of(Api api) {
  std::size_t data = 0, vector = kFirstVector, row = kFirstRow;
  std::vector<std::size_t> slots;
  for (const aclnn::Argument& argument : aclnn::arguments(api)) {
    switch (argument.form) {
      case Form::kData:
        slots.push_back(data++);
        break;
      case Form::kChannels:
        slots.push_back(vector++);
        break;
      case Form::kRows:
        slots.push_back(row++);
        break;
      default:
        slots.push_back(kCounts);
    }
  }
  return slots;
}

bool has_mask(Api api) { return api == Api::kBackward || api == Api::kFastBackward; }

Api pick_api(Bytes& bytes) {
  return bytes.pick({Api::kStats, Api::kReduce, Api::kBatchNorm, Api::kBackward, Api::kFastBackward,
                     Api::kElemtBackward, Api::kGather, Api::kElemt});
}

}  // namespace

void AclProgram::tensor() {
  if (bytes_.one_in(4)) {
    auto* const handle = static_cast<aclTensor*>(slots_.pick(Kind::kTensor));
    const bool right = handle == nullptr || slots_.is_alive(handle, Kind::kTensor);
    expect_status("aclDestroyTensor", aclDestroyTensor(handle), right ? 0 : kInvalid);
    if (right) slots_.die(handle);
    return;
  }
  if (!bytes_.one_in(4)) return create_tensor(bytes_.below(kTensors));
  for (std::size_t slot = 0; slot < kTensors; ++slot) create_tensor(slot);
}

void AclProgram::create_tensor(std::size_t slot) {
  const std::uint64_t rank = slot < kFirstVector ? 3 : slot < kFirstRow || slot == kCounts ? 1 : 2;
  const bool of_channels = slot >= kFirstVector && slot < kFirstRow;
  const std::int64_t* const shape = of_channels ? kShape + 1 : kShape;
  const bool shaped = !bytes_.one_in(32);
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
    const std::uint64_t length = bytes_.one_in(4) ? bytes_.below(4) : 3;
    aclBoolArray* const made = aclCreateBoolArray(values, length);
    expect(made != nullptr, "aclCreateBoolArray");
    masks_[made] = length;
    return put(Kind::kMask, made);
  }
  auto* const handle = static_cast<aclBoolArray*>(pick(Kind::kMask));
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

// Nulls are refused with one code, what is dead or of a wrong shape with another; the order of the two is the
// operator's own.
void AclProgram::first_phase() {
  const Api api = pick_api(bytes_);
  const std::vector<aclnn::Argument> arguments = aclnn::arguments(api);
  const std::vector<std::size_t> slots = slots_of(api);
  const bool given = !bytes_.one_in(16);
  void* const mask = has_mask(api) ? pick(Kind::kMask) : nullptr;
  bool null = !given, invalid = false, moved = false, open = false;
  if (has_mask(api)) {
    const bool alive = slots_.is_alive(mask, Kind::kMask);
    null = null || mask == nullptr || (alive && masks_[mask] == 0);
    invalid = mask != nullptr && (!alive || masks_[mask] != 3);
  }
  std::vector<aclTensor*> tensors;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    void* const handle = slots_.pick(Kind::kTensor, slots[i]);
    tensors.push_back(static_cast<aclTensor*>(handle));
    if (has_mask(api) && i == 8) continue;  // gradWeight, which our masks do not want
    const bool alive = slots_.is_alive(handle, Kind::kTensor);
    if (handle == nullptr) {
      null = null || arguments[i].required;
      open = open || !arguments[i].required;
    } else {
      invalid = invalid || !alive;
    }
    moved = moved || !slots_.is_of(handle, Kind::kTensor, slots[i]) || moved_.contains(handle);
  }
  std::uint64_t size = 77;
  aclOpExecutor* made = nullptr;
  const int code =
      aclnn::first_phase(api, tensors, {true, {true, true, true}, static_cast<aclBoolArray*>(mask)},
                         given ? &size : nullptr, &made);
  // A live tensor out of another slot may be of the wrong shape; one that is left out may be missed.
  int expected = null ? kNullPointer : invalid ? kInvalid : 0;
  if (null && (invalid || moved) && code == kInvalid) expected = code;
  if (expected == 0 && (moved || open) && code == kInvalid) expected = code;
  if (open && expected != 0 && code == kNullPointer) expected = code;
  const std::string call = "phase 1 of operator " + std::to_string(static_cast<int>(api));
  expect_status(call.c_str(), code, expected);
  if (code != 0) return expect(size == 77 && made == nullptr, call + " wrote on refusal");
  executors_[made] = {api, false, size, moved};
  put(Kind::kExecutor, made);
}

void AclProgram::second_phase() {
  auto* const executor = static_cast<aclOpExecutor*>(pick(Kind::kExecutor));
  void* const stream = pick(Kind::kStream);
  const bool given = !bytes_.one_in(8), enough = !bytes_.one_in(8), other = bytes_.one_in(4);
  const bool alive = slots_.is_alive(executor, Kind::kExecutor);
  const Executor what = alive ? executors_[executor] : Executor{Api::kStats};
  const Api api = other ? pick_api(bytes_) : what.api;
  const std::uint64_t size = enough || what.workspace == 0 ? what.workspace : what.workspace - 1;
  expect(what.workspace <= sizeof(workspace), "workspace of " + std::to_string(what.workspace));
  void* const memory = given ? workspace : nullptr;
  const int code = aclnn::second_phase(api, memory, size, executor, stream);
  int expected = 0;
  if (executor == nullptr) {
    expected = kNullPointer;
  } else if (!alive || what.api != api) {
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
  if (!alive || what.api != api || what.repeatable) return;
  slots_.die(executor);
  executors_.erase(executor);
}

void AclProgram::use_executor() {
  auto* const executor = static_cast<aclOpExecutor*>(pick(Kind::kExecutor));
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
      // Tensor 0 is every operator's input 0; an index beyond all of them is refused.
      auto* const tensor = static_cast<aclTensor*>(slots_.pick(Kind::kTensor, 0));
      const bool beyond = bytes_.one_in(4);
      const std::size_t index =
          beyond ? std::numeric_limits<std::size_t>::max() - bytes_.below(8) : 0;
      const int code = aclSetInputTensorAddr(executor, index, tensor, buffer[0]);
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
