#include "infini_program.h"

#include <iterator>
#include <vector>

#include "infiniop.h"
#include "infinirt.h"
#include "normgrad/last_error.h"

namespace fuzz {
namespace {

constexpr int kOk = INFINI_STATUS_SUCCESS, kBad = INFINI_STATUS_BAD_PARAM,
              kNull = INFINI_STATUS_NULL_POINTER,
              kNoDevice = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;

// What a tensor may be; each slot of tensors holds one form.
enum class Form { kData, kColumns, kRows, kChannels };
constexpr std::size_t kShape[] = {2, 3, 5};
struct Tensor {
  std::size_t rank;
  const std::size_t* shape;
};
constexpr Tensor kTensor[] = {{3, kShape}, {1, kShape + 2}, {2, kShape}, {1, kShape + 1}};
constexpr Form kFormOf[] = {Form::kData,    Form::kData, Form::kData,    Form::kColumns,
                            Form::kColumns, Form::kRows, Form::kChannels};
float buffer[8][30];
alignas(64) std::uint8_t workspace[1 << 16];

using Descriptors = const infiniopTensorDescriptor_t*;
using Data = void* const*;

struct Operator {
  const char* name;
  std::vector<std::size_t> slots;  // of its tensors, in the order of the prototype
  std::size_t optional;            // which of them; none if there are not so many
  infiniStatus_t (*create)(infiniopHandle_t, InfiniopDescriptor**, Descriptors);
  infiniStatus_t (*ask)(InfiniopDescriptor*, std::size_t*);
  infiniStatus_t (*compute)(InfiniopDescriptor*, void*, std::size_t, Data);
  infiniStatus_t (*destroy)(InfiniopDescriptor*);
};

const Operator& operator_of(std::size_t kind) {
  static const Operator all[] = {
      {"RMSNormBackward",
       {0, 3, 1, 2, 4},
       99,
       [](auto handle, auto made, Descriptors t) {
         return infiniopCreateRMSNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3], t[4]);
       },
       infiniopGetRMSNormBackwardWorkspaceSize,
       [](auto made, void* room, std::size_t size, Data p) {
         return infiniopRMSNormBackward(made, room, size, p[0], p[1], p[2], p[3], p[4], nullptr);
       },
       infiniopDestroyRMSNormBackwardDescriptor},
      {"LayerNormBackward",
       {0, 3, 4, 1, 3, 2, 5},
       2,
       [](auto handle, auto made, Descriptors t) {
         return infiniopCreateLayerNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3],
                                                          t[4], t[5], t[6]);
       },
       infiniopGetLayerNormBackwardWorkspaceSize,
       [](auto made, void* room, std::size_t size, Data p) {
         return infiniopLayerNormBackward(made, room, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                          p[6], nullptr);
       },
       infiniopDestroyLayerNormBackwardDescriptor},
      {"BatchNormBackward",
       {0, 6, 6, 1, 2, 6, 6, 6},
       99,
       [](auto handle, auto made, Descriptors t) {
         return infiniopCreateBatchNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3],
                                                          t[4], t[5], t[6], t[7]);
       },
       infiniopGetBatchNormBackwardWorkspaceSize,
       [](auto made, void* room, std::size_t size, Data p) {
         return infiniopBatchNormBackward(made, room, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                          p[6], p[7], nullptr);
       },
       infiniopDestroyBatchNormBackwardDescriptor}};
  return all[kind];
}
constexpr std::size_t kOperators = 3;

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
      return create_tensors();
    case 3:
    case 4:
      return create_operator();
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

void InfiniProgram::create_tensors() {
  if (!bytes_.one_in(4)) return create_tensor(bytes_.below(kCount));
  for (std::size_t slot = 0; slot < kCount; ++slot) create_tensor(slot);
}

void InfiniProgram::create_tensor(std::size_t slot) {
  const bool given = !bytes_.one_in(32), shaped = !bytes_.one_in(32);
  infiniopTensorDescriptor_t tensor = nullptr;
  const auto [rank, shape] = kTensor[static_cast<std::size_t>(kFormOf[slot])];
  const infiniStatus_t status = infiniopCreateTensorDescriptor(
      given ? &tensor : nullptr, rank, shaped ? shape : nullptr, nullptr, INFINI_DTYPE_F32);
  expect_status("infiniopCreateTensorDescriptor", status, given && shaped ? kOk : kNull);
  if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kTensor, slot, tensor);
}

void InfiniProgram::create_operator() {
  const std::size_t kind = bytes_.below(kOperators);
  const Operator& op = operator_of(kind);
  void* const handle = slots_.pick(Kind::kHandle, bytes_.below(2));
  bool alive = slots_.is_alive(handle, Kind::kHandle), fits = true;
  std::vector<infiniopTensorDescriptor_t> tensors;
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    void* const tensor = slots_.pick(Kind::kTensor, op.slots[i]);
    tensors.push_back(static_cast<infiniopTensorDescriptor_t>(tensor));
    if (tensor == nullptr && i == op.optional) continue;
    const bool lives = slots_.is_alive(tensor, Kind::kTensor);
    alive = alive && lives;
    fits = fits && lives && kFormOf[slots_.slot_of(tensor)] == kFormOf[op.slots[i]];
  }
  const bool given = !bytes_.one_in(16);
  InfiniopDescriptor* made = nullptr;
  const infiniStatus_t status =
      op.create(static_cast<infiniopHandle_t>(handle), given ? &made : nullptr, tensors.data());
  expect_status(op.name, status,
                !alive || !given ? kBad
                : fits           ? kOk
                                 : INFINI_STATUS_BAD_TENSOR_SHAPE);
  expect((made != nullptr) == (status == INFINI_STATUS_SUCCESS), "*desc_ptr is wrong");
  if (made != nullptr) slots_.put(static_cast<Kind>(kind), bytes_.below(2), made);
}

void InfiniProgram::ask_size() {
  const std::size_t kind = bytes_.below(kOperators);
  const std::size_t asked = bytes_.one_in(8) ? bytes_.below(kOperators) : kind;
  void* const made = slots_.pick(static_cast<Kind>(kind), bytes_.below(2));
  const bool given = !bytes_.one_in(8);
  std::size_t size = 77;
  const infiniStatus_t status =
      operator_of(asked).ask(static_cast<InfiniopDescriptor*>(made), given ? &size : nullptr);
  const bool right = slots_.is_alive(made, static_cast<Kind>(asked)) && given;
  expect_status("infiniopGet...WorkspaceSize", status, right ? kOk : kBad);
  if (!right) expect(size == 77, "a refused call wrote the size");
}

void InfiniProgram::compute() {
  const std::size_t kind = bytes_.below(kOperators);
  const Operator& op = operator_of(kind);
  auto* const made =
      static_cast<InfiniopDescriptor*>(slots_.pick(static_cast<Kind>(kind), bytes_.below(2)));
  const bool alive = slots_.is_alive(made, static_cast<Kind>(kind));
  std::size_t size = 0;
  if (alive) op.ask(made, &size);
  expect(size <= sizeof(workspace), "workspace of " + std::to_string(size));
  const bool enough = !bytes_.one_in(8) || size == 0;
  const bool given = !bytes_.one_in(8) || size == 0, all = !bytes_.one_in(8);
  void* data[std::size(buffer)];
  for (std::size_t i = 0; i < std::size(buffer); ++i) data[i] = buffer[i];
  if (!all) data[1] = nullptr;
  const infiniStatus_t status =
      op.compute(made, given ? workspace : nullptr, enough ? size : size - 1, data);
  int expected = kOk;
  if (!given || !all) expected = kBad;
  if (!enough) expected = INFINI_STATUS_INSUFFICIENT_WORKSPACE;
  if (!alive) expected = kBad;
  expect_status(op.name, status, expected);
}

void InfiniProgram::destroy() {
  const Kind kind = bytes_.pick(
      {Kind::kHandle, Kind::kTensor, Kind::kRmsNorm, Kind::kLayerNorm, Kind::kBatchNorm});
  void* const handle = slots_.pick(kind, bytes_.below(kind == Kind::kTensor ? kCount : 2));
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  switch (kind) {
    case Kind::kHandle:
      status = infiniopDestroyHandle(static_cast<infiniopHandle_t>(handle));
      break;
    case Kind::kTensor:
      status = infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(handle));
      break;
    default:
      status = operator_of(static_cast<std::size_t>(kind))
                   .destroy(static_cast<InfiniopDescriptor*>(handle));
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
    if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kEvent, bytes_.below(2), made);
    return;
  }
  void* const handle = slots_.pick(Kind::kEvent, bytes_.below(2));
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
    if (status == INFINI_STATUS_SUCCESS) slots_.put(Kind::kMemory, bytes_.below(2), made);
    return;
  }
  void* const address = slots_.pick(Kind::kMemory, bytes_.below(2));
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
  for (std::size_t kind = 0; kind < kOperators; ++kind) {
    release(static_cast<Kind>(kind), [&](void* h) {
      return operator_of(kind).destroy(static_cast<InfiniopDescriptor*>(h));
    });
  }
  release(Kind::kTensor, [](void* h) {
    return infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(h));
  });
  release(Kind::kHandle,
          [](void* h) { return infiniopDestroyHandle(static_cast<infiniopHandle_t>(h)); });
  release(Kind::kEvent, [](void* h) { return infinirtEventDestroy(h); });
  release(Kind::kMemory, [](void* h) { return infinirtFree(h); });
}

}  // namespace fuzz
