// What every kernel for torch does: leave to torch what is not ours, compute with a workspace, raise what fails.
#ifndef NORMGRAD_PYTHON_TORCH_KERNEL_H
#define NORMGRAD_PYTHON_TORCH_KERNEL_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "normgrad/last_error.h"
#include "normgrad/plan.h"
#include "normgrad/settings.h"
#include "torch/tensors.h"

namespace normgrad::python {

// Memory of a thread's own that it keeps while it is small: a fresh one would be mapped, and its pages zeroed, every time.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) {
    constexpr std::size_t kMostKept = std::size_t{4} << 20;
    thread_local std::unique_ptr<std::byte[]> kept;
    thread_local std::size_t kept_bytes = 0;
    if (bytes > kMostKept) {
      own_.reset(new std::byte[bytes]);
      data_ = own_.get();
      return;
    }
    if (bytes > kept_bytes) {
      kept.reset();
      kept_bytes = 0;
      kept.reset(new std::byte[bytes]);
      kept_bytes = bytes;
    }
    data_ = kept.get();
  }
  void* data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> own_;
  std::byte* data_ = nullptr;
};

inline void raise(Status status) {
  if (status != Status::kOk) throw std::runtime_error(normgradGetLastError());
}

// A model calls an operator with the same few shapes again and again: a thread keeps the last plans of each operator. To make
// one takes a sixth of a call (LayerNorm of 4x8).
inline const Plan& plan_of(const Problem& problem) {
  constexpr std::size_t kMostKept = 32;
  struct Planned {
    Problem problem;
    Plan plan;
  };
  struct Plans {
    std::vector<std::unique_ptr<Planned>> kept;
    std::size_t last = 0;  // which was asked for
  };
  thread_local Plans plans_of[kOps];
  auto& [kept, last] = plans_of[static_cast<int>(problem.op)];
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::size_t at = (last + i) % kept.size();  // models ask in turn
    if (kept[at]->plan.arithmetic() != arithmetic() || !(kept[at]->problem == problem)) continue;
    last = at;
    return kept[at]->plan;
  }
  auto made = std::make_unique<Planned>();
  raise(make_plan(problem, &made->plan));
  made->problem = problem;
  if (kept.size() < kMostKept) {
    last = kept.size();
    kept.push_back(std::move(made));
  } else {  // in the place of the one that has waited longest, if they are asked for in turn
    last = (last + 1) % kMostKept;
    kept[last] = std::move(made);
  }
  return kept[last]->plan;
}

// A problem and its tensors, by the names that the core has for them.
struct Call {
  explicit Call(Op op) { problem.op = op; }

  void set(Arg arg, const Tensor& described, const TorchTensor& tensor) {
    problem[arg] = described;
    addresses[arg] = tensor.data();
  }
  void set(Arg arg, const char* name, const TorchTensor& tensor) {
    set(arg, described(name, tensor), tensor);
  }
  void run() const {
    // torch.set_num_threads is for all threads, but reaches one, and its OpenMP, when torch first asks for the number there.
    std::uint32_t threads = 0;
    check(shim().get_num_threads(&threads), "give its number of threads");
    const Plan& plan = plan_of(problem);
    const Workspace workspace(plan.workspace_bytes());
    raise(normgrad::run(plan, addresses, workspace.data(), plan.workspace_bytes()));
  }

  Problem problem;
  Addresses addresses;
};

inline bool is_ours(Value tensor) {
  std::int32_t type = 0;
  std::int64_t dims = 0;
  const Shim& torch = shim();
  const auto handle = reinterpret_cast<TensorHandle>(tensor);
  if ((torch.get_dtype(handle, &type) | torch.get_dim(handle, &dims)) != 0) return false;
  return dims <= kMostDims && (type == torch.f32 || type == torch.bf16 || type == torch.f16);
}

// Forward-mode differentiation takes the statistics that a kernel returns for tensors of the input's type, so that tangents
// would become float64.
inline bool in_forward_mode() {
  const auto level = shim().forward_level;
  return level != nullptr && level(0) != nullptr;
}

// Operators from outside torch have no rule for tangents, which would be lost without a word. To be called when the arguments
// have been read.
[[noreturn]] inline void refuse_forward_mode() {
  throw std::runtime_error(
      "normgrad: forward-mode differentiation is not supported; use torch's own operators for it");
}

// float64 and what else is not ours goes to the kernel that torch has itself (_stock.py).
inline bool left_to_torch(const char* op, Value* stack, bool also = false) {
  if (!also && is_ours(stack[0])) return false;
  check(shim().call_dispatcher(op, "", stack, kInterface), op);
  return true;
}

struct Registration {
  const char* op;
  BoxedKernel kernel;
};

// The tables of the kernels, each by the namespaces of torch's operators that it is for.
struct Kernels {
  const Registration* begin;
  std::size_t count;
};
Kernels row_norms();              // both
Kernels batch_norms();            // both
Kernels row_norms_of_aten();      // left to torch in forward-mode differentiation
Kernels row_norms_of_normgrad();  // which these know nothing of
Kernels
batch_norms_of_aten();  // aten's own signatures, which update running statistics; f32 between processes
Kernels batch_norms_of_normgrad();  // no side effects; statistics in f64

}  // namespace normgrad::python

#endif
