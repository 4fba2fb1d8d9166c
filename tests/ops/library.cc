#include "ops/library.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "cpu/cache.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/last_error.h"
#include "normgrad/layer_norm_backward.h"
#include "normgrad/rms_norm_backward.h"

namespace ops_test {
namespace {

using normgrad::Status;

// A cache so small that small problems go the way of large ones: stores past the cache, many batches.
[[maybe_unused]] const bool cache_is_set = [] {
  const char* bytes = std::getenv("NORMGRAD_TEST_CACHE_BYTES");
  if (bytes != nullptr) normgrad::cpu::set_last_level_cache_bytes(std::atoll(bytes));
  return bytes != nullptr;
}();

normgrad::Tensor tensor(const Problem& problem, Slot slot) {
  const TensorSpec& spec = problem.tensor[slot];
  constexpr normgrad::DataType kTypes[] = {normgrad::DataType::kNone, normgrad::DataType::kF16,
                                           normgrad::DataType::kBF16, normgrad::DataType::kF32,
                                           normgrad::DataType::kF64};
  normgrad::Tensor out;
  out.dtype = kTypes[static_cast<int>(spec.format)];
  out.rank = static_cast<int>(spec.shape.size());
  std::copy(spec.shape.begin(), spec.shape.end(), out.shape);
  std::copy(spec.strides.begin(), spec.strides.end(), out.strides);
  out.name = name(slot);
  return out;
}

Status make_plan(const Problem& p, normgrad::Plan* plan) {
  const auto t = [&](Slot slot) { return tensor(p, slot); };
  if (p.op == Op::kLayerNorm) {
    return normgrad::make_plan(
        normgrad::LayerNormBackward{t(kDx), t(kDw), t(kDb), t(kDy), t(kW), t(kXHat), t(kSigma),
                                    t(kX), t(kMean), t(kRstd)},
        plan);
  }
  if (p.op == Op::kRmsNorm) {
    return normgrad::make_plan(
        normgrad::RmsNormBackward{t(kDx), t(kDw), t(kDy), t(kW), t(kX), t(kRstd)}, plan);
  }
  return normgrad::make_plan(
      normgrad::BatchNormBackward{t(kDx), t(kDw), t(kDb), {}, {}, t(kDy), t(kX), t(kW), t(kMean), t(kRstd),
                                  t(kVar), p.eps, p.training, p.channel_axis},
      plan);
}

using Pointers = std::array<void*, kSlotCount>;

Status run(Op op, const normgrad::Plan& plan, const Pointers& p, void* workspace) {
  const std::size_t bytes = plan.workspace_bytes;
  if (op == Op::kLayerNorm) {
    return normgrad::run(
        plan,
        normgrad::LayerNormBackwardData{p[kDx], p[kDw], p[kDb], p[kDy], p[kW], p[kXHat], p[kSigma],
                                        p[kX], p[kMean], p[kRstd]},
        workspace, bytes);
  }
  if (op == Op::kRmsNorm) {
    return normgrad::run(
        plan, normgrad::RmsNormBackwardData{p[kDx], p[kDw], p[kDy], p[kW], p[kX], p[kRstd]},
        workspace, bytes);
  }
  return normgrad::run(plan,
                       normgrad::BatchNormBackwardData{p[kDx], p[kDw], p[kDb], nullptr, nullptr, p[kDy], p[kX], p[kW],
                                                       p[kMean], p[kRstd], p[kVar]},
                       workspace, bytes);
}

// The workspace the plan asks for, to the byte, full of NaNs of every format; guards on both sides.
class Workspace {
 public:
  Workspace(std::size_t bytes, std::size_t shift)
      : begin_(64 + shift), size_(bytes), bytes_(bytes + shift + 128, 0xff) {}
  void* data() { return size_ == 0 ? nullptr : bytes_.data() + begin_; }
  bool guards_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < begin_ || i >= begin_ + size_) && bytes_[i] != 0xff) return false;
    }
    return true;
  }

 private:
  std::size_t begin_, size_;
  std::vector<std::uint8_t> bytes_;
};

using Storages = std::array<std::unique_ptr<Storage>, kSlotCount>;

Storages make_storages(const Problem& problem) {
  Storages out;
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (!problem.has(Slot(slot)) || (slot == kDx && problem.dx_shares != kDx)) continue;
    out[slot] = std::make_unique<Storage>(problem.tensor[slot]);
    if (slot >= kDy) out[slot]->write(problem.value[slot]);
    out[slot]->remember();
  }
  return out;
}

std::string changed_bytes(const Problem& problem, const Storages& storages) {
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (storages[slot] == nullptr) continue;
    const bool writable = slot < kDy || slot == problem.dx_shares;
    const std::string change = storages[slot]->changes(writable);
    if (!change.empty()) return std::string(name(Slot(slot))) + ": " + change;
  }
  return "";
}

std::string failed_call(const char* function, Status status) {
  return std::string(function) + " returned status " + std::to_string(static_cast<int>(status)) +
         ": " + normgradGetLastError();
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

const char* name(normgrad::Isa isa) {
  constexpr const char* kNames[] = {"plain", "baseline", "sse4", "avx2"};
  return kNames[static_cast<int>(isa)];
}

std::vector<normgrad::Isa> available_isas() {
  std::vector<normgrad::Isa> out;
  for (const normgrad::Isa isa : kIsas) {
    if (normgrad::set_isa(isa) == isa) out.push_back(isa);
  }
  return out;
}

Outputs run_library(const Problem& problem, const RunSettings& settings) {
  Outputs out;
  normgrad::set_threads(settings.threads);
  normgrad::set_isa(settings.isa);
  normgrad::Plan plan;
  Status status = make_plan(problem, &plan);
  if (status != Status::kOk) return {{}, failed_call("make_plan", status)};

  Storages storages = make_storages(problem);
  Pointers data;
  data.fill(reinterpret_cast<void*>(std::uintptr_t{16}));  // what is absent is never dereferenced
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (storages[slot] != nullptr) data[slot] = storages[slot]->data();
  }
  if (problem.dx_shares != kDx && problem.has(kDx)) data[kDx] = data[problem.dx_shares];
  Workspace workspace(plan.workspace_bytes, settings.workspace_shift_bytes);
  status = run(problem.op, plan, data, workspace.data());
  if (status != Status::kOk) return {{}, failed_call("run", status)};

  out.failure = changed_bytes(problem, storages);
  if (!workspace.guards_intact()) out.failure += " bytes beside the workspace were changed";
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const bool shared = slot == kDx && problem.dx_shares != kDx;
    out.bits[slot] = storages[shared ? problem.dx_shares : slot]->read();
  }
  return out;
}

std::string first_difference(const Problem& problem, const Outputs& got, const Outputs& expected) {
  if (!got.failure.empty() || !expected.failure.empty()) return got.failure + expected.failure;
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const Format format = problem.tensor[slot].format;
    const Bits &a = got.bits[slot], &b = expected.bits[slot];
    if (a.size() != b.size()) return std::string(name(slot)) + " has another size";
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double got_value = decode(format, a[i]), expected_value = decode(format, b[i]);
      if (same_number(got_value, expected_value)) continue;
      std::ostringstream message;
      message << std::hexfloat << name(slot) << "[" << std::dec << i << "]: got " << got_value
              << ", expected " << expected_value << std::defaultfloat << " (" << got_value << ", "
              << expected_value << ")";
      return message.str();
    }
  }
  return "";
}

Values values(const Problem& problem, const Outputs& outputs, Slot slot) {
  Values out;
  for (const std::uint64_t bits : outputs.bits[slot])
    out.push_back(decode(problem.tensor[slot].format, bits));
  return out;
}

}  // namespace ops_test
