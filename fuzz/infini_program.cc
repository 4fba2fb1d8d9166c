#include "infini_program.h"

#include "infiniop.h"
#include "infinirt.h"
#include "normgrad/last_error.h"

namespace fuzz {
namespace {

constexpr int kOk = INFINI_STATUS_SUCCESS, kBad = INFINI_STATUS_BAD_PARAM,
              kNull = INFINI_STATUS_NULL_POINTER,
              kNoDevice = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;

// Slots 0 to 2 hold data tensors, the last two vectors.
constexpr std::size_t kData = 3;
constexpr std::size_t kShape[] = {2, 3, 5};
float buffer[5][30];

void expect_status(const char* call, infiniStatus_t got, int expected) {
  expect_code(call, got, expected);
  if (got == kOk) return;
  const char* sentence = normgradGetLastError();
  expect(sentence != nullptr && *sentence != '\0', std::string(call) + ": no sentence");
}

}  // namespace

void InfiniProgram::step() {
  switch (bytes_.below(12)) {
    case 0:
      return create_handle();
    case 1:
    case 2:
      return create_tensor();
    case 3:
      return create_rms_norm();
    case 4:
      return create_layer_norm();
    case 5:
      return ask_size();
    case 6:
    case 7:
      return compute();
    case 8:
      return event();
    case 9:
      return memory();
    case 10: {
      on_cpu_ = !bytes_.one_in(4);
      const infiniDevice_t device = on_cpu_ ? INFINI_DEVICE_CPU : INFINI_DEVICE_NVIDIA;
      return expect_status("infinirtSetDevice", infinirtSetDevice(device, 0),
                           on_cpu_ ? kOk : kNoDevice);
    }
    default:
      return destroy();
  }
}

void InfiniProgram::create_handle() {
  const bool given = !bytes_.one_in(8);
  infiniopHandle_t handle = nullptr;
  const infiniStatus_t status = infiniopCreateHandle(given ? &handle : nullptr);
  expect_status("infiniopCreateHandle", status, !given ? kNull : on_cpu_ ? kOk : kNoDevice);
  if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kHandle, bytes_.below(2), handle);
}

void InfiniProgram::create_tensor() {
  const std::size_t slot = bytes_.below(kCount);
  const bool given = !bytes_.one_in(8), shaped = !bytes_.one_in(8);
  infiniopTensorDescriptor_t tensor = nullptr;
  const std::size_t rank = slot < kData ? 3 : 1;
  const std::size_t* shape = slot < kData ? kShape : kShape + 2;
  const infiniStatus_t status = infiniopCreateTensorDescriptor(
      given ? &tensor : nullptr, rank, shaped ? shape : nullptr, nullptr, INFINI_DTYPE_F32);
  expect_status("infiniopCreateTensorDescriptor", status, given && shaped ? kOk : kNull);
  if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kTensor, slot, tensor);
}

void InfiniProgram::create_rms_norm() {
  void* const handle = slots_.pick(Kind::kHandle, bytes_.below(2));
  void* tensor[5];
  bool alive = slots_.is_alive(handle, Kind::kHandle);
  // Data, vector, data, data, vector. One that stands for another's argument would be of another shape: 11.
  constexpr std::size_t kSlot[] = {0, 3, 1, 2, 4};
  bool fits = true;
  for (int i = 0; i < 5; ++i) {
    tensor[i] = slots_.pick(Kind::kTensor, kSlot[i]);
    alive = alive && slots_.is_alive(tensor[i], Kind::kTensor);
    fits = fits && slots_.is_of(tensor[i], Kind::kTensor, kSlot[i]);
  }
  const bool given = !bytes_.one_in(16);
  infiniopRMSNormBackwardDescriptor_t made = nullptr;
  const auto as_tensor = [&](int i) { return static_cast<infiniopTensorDescriptor_t>(tensor[i]); };
  const infiniStatus_t status = infiniopCreateRMSNormBackwardDescriptor(
      static_cast<infiniopHandle_t>(handle), given ? &made : nullptr, as_tensor(0), as_tensor(1),
      as_tensor(2), as_tensor(3), as_tensor(4));
  if (alive && given && !fits && status != INFINI_STATUS_BAD_PARAM) {
    // A live tensor out of another slot: right or wrong, but nothing else.
    expect(status == INFINI_STATUS_SUCCESS || status == INFINI_STATUS_BAD_TENSOR_SHAPE,
           "infiniopCreateRMSNormBackwardDescriptor returned " + std::to_string(status));
  } else {
    expect_status("infiniopCreateRMSNormBackwardDescriptor", status, alive && given ? kOk : kBad);
  }
  if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kRmsNorm, bytes_.below(2), made);
}

void InfiniProgram::create_layer_norm() {
  void* const handle = slots_.pick(Kind::kHandle, bytes_.below(2));
  infiniopLayerNormBackwardDescriptor_t made = nullptr;
  // Its standard deviation is missing, so it is never made.
  const auto tensor = [&](std::size_t slot) {
    return static_cast<infiniopTensorDescriptor_t>(slots_.pick(Kind::kTensor, slot));
  };
  const infiniStatus_t status = infiniopCreateLayerNormBackwardDescriptor(
      static_cast<infiniopHandle_t>(handle), &made, tensor(0), tensor(3), nullptr, tensor(1),
      tensor(4), tensor(2), nullptr);
  expect_status("infiniopCreateLayerNormBackwardDescriptor", status, kBad);
  expect(made == nullptr, "infiniopCreateLayerNormBackwardDescriptor wrote on refusal");
}

void InfiniProgram::ask_size() {
  void* const made = slots_.pick(Kind::kRmsNorm, bytes_.below(2));
  const bool given = !bytes_.one_in(8), as_other = bytes_.one_in(8);
  const auto descriptor = static_cast<infiniopRMSNormBackwardDescriptor_t>(made);
  std::size_t size = 77;
  const infiniStatus_t status =
      as_other ? infiniopGetLayerNormBackwardWorkspaceSize(descriptor, given ? &size : nullptr)
               : infiniopGetRMSNormBackwardWorkspaceSize(descriptor, given ? &size : nullptr);
  const bool right = slots_.is_alive(made, Kind::kRmsNorm) && !as_other && given;
  expect_status("infiniopGet...WorkspaceSize", status, right ? kOk : kBad);
  if (!right) expect(size == 77, "a refused call wrote the size");
}

void InfiniProgram::compute() {
  void* const made = slots_.pick(Kind::kRmsNorm, bytes_.below(2));
  const auto descriptor = static_cast<infiniopRMSNormBackwardDescriptor_t>(made);
  const bool alive = slots_.is_alive(made, Kind::kRmsNorm);
  std::size_t size = 0;
  if (alive) infiniopGetRMSNormBackwardWorkspaceSize(descriptor, &size);
  alignas(64) static std::uint8_t workspace[1 << 16];
  expect(size <= sizeof(workspace), "workspace of " + std::to_string(size));
  const bool enough = !bytes_.one_in(8) || size == 0;
  const bool given = !bytes_.one_in(8) || size == 0, all = !bytes_.one_in(8);
  const infiniStatus_t status = infiniopRMSNormBackward(
      descriptor, given ? workspace : nullptr, enough ? size : size - 1, buffer[0],
      all ? buffer[3] : nullptr, buffer[1], buffer[2], buffer[4], nullptr);
  int expected = kOk;
  if (!given || !all) expected = kBad;
  if (!enough) expected = INFINI_STATUS_INSUFFICIENT_WORKSPACE;
  if (!alive) expected = kBad;
  expect_status("infiniopRMSNormBackward", status, expected);
}

void InfiniProgram::destroy() {
  const Kind kind = bytes_.pick({Kind::kHandle, Kind::kTensor, Kind::kRmsNorm, Kind::kLayerNorm});
  void* const handle = slots_.pick(kind);
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  switch (kind) {
    case Kind::kHandle:
      status = infiniopDestroyHandle(static_cast<infiniopHandle_t>(handle));
      break;
    case Kind::kTensor:
      status = infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(handle));
      break;
    case Kind::kRmsNorm:
      status = infiniopDestroyRMSNormBackwardDescriptor(
          static_cast<infiniopRMSNormBackwardDescriptor_t>(handle));
      break;
    default:
      status = infiniopDestroyLayerNormBackwardDescriptor(
          static_cast<infiniopLayerNormBackwardDescriptor_t>(handle));
  }
  const bool right = handle == nullptr || slots_.is_alive(handle, kind);
  expect_status("infiniopDestroy...", status, right ? kOk : kBad);
  if (right) slots_.die(handle);
}

void InfiniProgram::event() {
  const int device = on_cpu_ ? kOk : kNoDevice;
  if (bytes_.one_in(3)) {
    infinirtEvent_t made = nullptr;
    const infiniStatus_t status = infinirtEventCreate(&made);
    expect_status("infinirtEventCreate", status, device);
    if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kEvent, bytes_.below(kCount), made);
    return;
  }
  void* const handle = slots_.pick(Kind::kEvent);
  const bool alive = slots_.is_alive(handle, Kind::kEvent);
  const int expected = !on_cpu_ ? kNoDevice : alive ? kOk : handle == nullptr ? kNull : kBad;
  if (bytes_.one_in(3)) {
    const infiniStatus_t status = infinirtEventDestroy(handle);
    expect_status("infinirtEventDestroy", status, on_cpu_ && handle == nullptr ? kOk : expected);
    if (status == INFINI_STATUS_SUCCESS) slots_.die(handle);
    return;
  }
  expect_status("infinirtEventRecord", infinirtEventRecord(handle, nullptr), expected);
}

void InfiniProgram::memory() {
  if (bytes_.one_in(2)) {
    void* made = nullptr;
    const infiniStatus_t status = infinirtMalloc(&made, 1 + bytes_.byte());
    expect_status("infinirtMalloc", status, on_cpu_ ? kOk : kNoDevice);
    if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kMemory, bytes_.below(kCount), made);
    return;
  }
  void* const address = slots_.pick(Kind::kMemory);
  const bool right = address == nullptr || slots_.is_alive(address, Kind::kMemory);
  const infiniStatus_t status = infinirtFree(address);
  expect_status("infinirtFree", status, !on_cpu_ ? kNoDevice : right ? kOk : kBad);
  if (status == INFINI_STATUS_SUCCESS) slots_.die(address);
}

void InfiniProgram::end() {
  infinirtSetDevice(INFINI_DEVICE_CPU, 0);
  const auto release = [&](Kind kind, auto&& destroy) {
    while (void* handle = slots_.any(kind)) {
      expect_code("at the end, destroying", destroy(handle), kOk);
      slots_.die(handle);
    }
  };
  release(Kind::kRmsNorm, [](void* h) {
    return infiniopDestroyRMSNormBackwardDescriptor(
        static_cast<infiniopRMSNormBackwardDescriptor_t>(h));
  });
  release(Kind::kTensor, [](void* h) {
    return infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(h));
  });
  release(Kind::kHandle,
          [](void* h) { return infiniopDestroyHandle(static_cast<infiniopHandle_t>(h)); });
  release(Kind::kEvent, [](void* h) { return infinirtEventDestroy(h); });
  release(Kind::kMemory, [](void* h) { return infinirtFree(h); });
}

}  // namespace fuzz
