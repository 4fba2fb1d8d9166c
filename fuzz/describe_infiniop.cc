// The three InfiniOp operators. The order of the checks: pointers, data types, shapes, strides.
#include <array>

#include "describe.h"
#include "drafts.h"
#include "infiniop.h"
#include "normgrad/last_error.h"

namespace fuzz {
namespace {

enum class Op { kBatchNorm, kLayerNorm, kRmsNorm };
enum class Form { kData, kVector, kPerRow };
struct Argument {
  Form form;
  bool output;
  bool optional = false;
};
constexpr std::size_t kMost = 8;

// In the order of the prototypes.
std::vector<Argument> arguments(Op op) {
  const Argument dx{Form::kData, true}, dw{Form::kVector, true}, data{Form::kData, false},
      vector{Form::kVector, false};
  switch (op) {
    case Op::kBatchNorm:
      return {dx, dw, dw, data, data, vector, vector, vector};
    case Op::kLayerNorm:
      return {dx, dw, {Form::kVector, true, true}, data, vector, data, {Form::kPerRow, false}};
    default:
      return {dx, dw, data, data, vector};
  }
}

struct Call {
  Op op;
  std::vector<Argument> arguments;
  std::vector<Draft> tensors;
  std::array<infiniopTensorDescriptor_t, kMost> descriptors{};

  bool is_left_out(std::size_t i) const { return tensors[i].null && arguments[i].optional; }
};

std::size_t size_of(int dtype) { return dtype == INFINI_DTYPE_F32 ? 4 : 2; }

// Every extent that a tensor must have, from the first one: shapes are those of grad_input.
bool has_right_shape(const Call& call, std::size_t i) {
  const Extents& data = call.tensors[0].shape;
  const Extents& shape = call.tensors[i].shape;
  switch (call.arguments[i].form) {
    case Form::kData:
      return shape == data;
    case Form::kVector:
      return shape == Extents{data[call.op == Op::kBatchNorm ? 1 : data.size() - 1]};
    default: {
      Extents rows(data.begin(), data.end() - 1);
      if (shape == rows) return true;
      rows.push_back(1);
      return shape == rows;
    }
  }
}

// Its elements can be counted, and the bytes between the lowest and the highest.
bool can_be_counted(const Draft& t, std::size_t bytes) {
  if (std::any_of(t.shape.begin(), t.shape.end(), [](auto n) { return n < 0; })) return false;
  if (t.is_empty()) return true;
  const Wide span = t.highest() + 1 - t.lowest();
  return t.count() * static_cast<int>(bytes) <= INT64_MAX &&
         span * static_cast<int>(bytes) <= INT64_MAX;
}

bool has_right_strides(const Call& call, std::size_t i) {
  const Draft& t = call.tensors[i];
  if (t.is_empty()) return true;
  if (call.arguments[i].form == Form::kData) {
    if (call.op == Op::kBatchNorm) {
      const Extents packed = contiguous(t.shape);
      for (std::size_t d = 0; d < t.shape.size(); ++d) {
        if (t.shape[d] > 1 && t.strides[d] != packed[d]) return false;
      }
    } else if (t.shape.back() > 1 && t.strides.back() != 1) {
      return false;
    }
  }
  return !call.arguments[i].output || !t.overlaps_itself();
}

infiniStatus_t expected_status(const Call& call) {
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i].null && !call.arguments[i].optional) return INFINI_STATUS_BAD_PARAM;
  }
  const int dtype = call.tensors[0].dtype;
  const bool known =
      dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_BF16;
  if (!known) return INFINI_STATUS_BAD_TENSOR_DTYPE;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (!call.is_left_out(i) && call.tensors[i].dtype != dtype) {
      return INFINI_STATUS_BAD_TENSOR_DTYPE;
    }
  }
  const std::size_t rank = call.tensors[0].shape.size();
  const bool right = call.op == Op::kBatchNorm ? rank == 3 : rank >= 2 && rank <= 8;
  if (!right) return INFINI_STATUS_BAD_TENSOR_SHAPE;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.is_left_out(i)) continue;
    if (!can_be_counted(call.tensors[i], size_of(dtype)) || !has_right_shape(call, i)) {
      return INFINI_STATUS_BAD_TENSOR_SHAPE;
    }
  }
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (!call.is_left_out(i) && !has_right_strides(call, i)) {
      return INFINI_STATUS_BAD_TENSOR_STRIDES;
    }
  }
  return INFINI_STATUS_SUCCESS;
}

Call make_call(Bytes& bytes) {
  Call call;
  call.op = bytes.pick({Op::kBatchNorm, Op::kLayerNorm, Op::kRmsNorm});
  call.arguments = arguments(call.op);
  Extents shape(call.op == Op::kBatchNorm || !bytes.one_in(3) ? 3 : 2 + bytes.below(4));
  for (std::int64_t& n : shape) n = bytes.pick<std::int64_t>({2, 3, 1, 4, 5, 7, 0, 9, 17});
  while (contiguous(shape)[0] * shape[0] > 2000) *std::max_element(shape.begin(), shape.end()) = 1;
  const int dtype = bytes.pick<int>({INFINI_DTYPE_F32, INFINI_DTYPE_F16, INFINI_DTYPE_BF16});
  for (const Argument& argument : call.arguments) {
    Extents of_form = shape;
    if (argument.form == Form::kVector) {
      of_form = {shape[call.op == Op::kBatchNorm ? 1 : shape.size() - 1]};
    }
    if (argument.form == Form::kPerRow) of_form.pop_back();
    Draft t = draft(bytes, of_form);
    // BatchNorm's data must be packed, so most of it is.
    if (call.op == Op::kBatchNorm && argument.form == Form::kData && !bytes.one_in(8)) {
      t.strides = contiguous(t.shape);
    }
    t.dtype = bytes.one_in(60) ? static_cast<int>(bytes.below(24)) : dtype;
    t.null = bytes.one_in(argument.optional ? 4 : 80);
    call.tensors.push_back(std::move(t));
  }
  return call;
}

infiniStatus_t create(const Call& call, infiniopHandle_t handle, InfiniopDescriptor** made) {
  const auto& t = call.descriptors;
  switch (call.op) {
    case Op::kBatchNorm:
      return infiniopCreateBatchNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3], t[4],
                                                       t[5], t[6], t[7]);
    case Op::kLayerNorm:
      return infiniopCreateLayerNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3], t[4],
                                                       t[5], t[6]);
    default:
      return infiniopCreateRMSNormBackwardDescriptor(handle, made, t[0], t[1], t[2], t[3], t[4]);
  }
}

infiniStatus_t run(const Call& call, InfiniopDescriptor* made, const std::array<void*, kMost>& p) {
  static Guarded room;
  std::size_t size = 0;
  void* workspace = nullptr;
  const auto with = [&](auto ask, auto compute) {
    expect(ask(made, &size) == INFINI_STATUS_SUCCESS, "the workspace size was refused");
    workspace = room.last(size);
    return compute();
  };
  switch (call.op) {
    case Op::kBatchNorm:
      return with(infiniopGetBatchNormBackwardWorkspaceSize, [&] {
        return infiniopBatchNormBackward(made, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                         p[6], p[7], nullptr);
      });
    case Op::kLayerNorm:
      return with(infiniopGetLayerNormBackwardWorkspaceSize, [&] {
        return infiniopLayerNormBackward(made, workspace, size, p[0], p[1], p[2], p[3], p[4], p[5],
                                         p[6], nullptr);
      });
    default:
      return with(infiniopGetRMSNormBackwardWorkspaceSize, [&] {
        return infiniopRMSNormBackward(made, workspace, size, p[0], p[1], p[2], p[3], p[4],
                                       nullptr);
      });
  }
}

infiniStatus_t destroy(const Call& call, InfiniopDescriptor* made) {
  switch (call.op) {
    case Op::kBatchNorm:
      return infiniopDestroyBatchNormBackwardDescriptor(made);
    case Op::kLayerNorm:
      return infiniopDestroyLayerNormBackwardDescriptor(made);
    default:
      return infiniopDestroyRMSNormBackwardDescriptor(made);
  }
}

void run_if_possible(Bytes& bytes, const Call& call, InfiniopDescriptor* made) {
  static Guarded memory[kMost];
  std::array<void*, kMost> data{};
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.is_left_out(i)) continue;
    if (!call.tensors[i].is_small()) return;
    data[i] = memory[i].place(call.tensors[i], size_of(call.tensors[i].dtype), !bytes.one_in(4));
  }
  expect(run(call, made, data) == INFINI_STATUS_SUCCESS,
         std::string("an accepted call failed: ") + normgradGetLastError());
}

}  // namespace

void describe_infiniop(Bytes& bytes) {
  Call call = make_call(bytes);
  infiniopHandle_t handle = nullptr;
  expect(infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS, "infiniopCreateHandle");
  bool can_say = true;  // what a client can write down at all
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const Draft& t = call.tensors[i];
    // The validator counts elements one by one where a stride may make two of them meet.
    can_say =
        can_say && (t.null || !call.arguments[i].output || t.is_small() || !can_be_counted(t, 8));
    if (t.null) continue;
    const std::vector<std::size_t> shape(t.shape.begin(), t.shape.end());
    const std::vector<std::ptrdiff_t> strides(t.strides.begin(), t.strides.end());
    expect(infiniopCreateTensorDescriptor(&call.descriptors[i], shape.size(), shape.data(),
                                          strides.data(), static_cast<infiniDtype_t>(t.dtype)) ==
               INFINI_STATUS_SUCCESS,
           "infiniopCreateTensorDescriptor");
  }
  InfiniopDescriptor* made = nullptr;
  const infiniStatus_t status = create(call, handle, &made);
  for (infiniopTensorDescriptor_t t : call.descriptors) {
    expect(infiniopDestroyTensorDescriptor(t) == INFINI_STATUS_SUCCESS, "destroying a tensor");
  }
  if (can_say) {
    const infiniStatus_t expected = expected_status(call);
    expect(status == expected, "operator " + std::to_string(static_cast<int>(call.op)) +
                                   ": status " + std::to_string(status) + ", the validator says " +
                                   std::to_string(expected) + "; " + normgradGetLastError());
  }
  expect((made != nullptr) == (status == INFINI_STATUS_SUCCESS), "*desc_ptr is wrong");
  if (made != nullptr) {
    run_if_possible(bytes, call, made);
    expect(destroy(call, made) == INFINI_STATUS_SUCCESS, "destroying the descriptor");
  }
  expect(infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS, "infiniopDestroyHandle");
}

}  // namespace fuzz
