#include "ops/library.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "kernels/cache.h"
#include "normgrad/last_error.h"
#include "ops/operators.h"

namespace ops_test {
namespace {

using normgrad::Status;

// A cache so small that small problems go the way of large ones: stores past the cache, many batches.
std::int64_t cache_bytes_of_environment() {
  const char* bytes = std::getenv("NORMGRAD_TEST_CACHE_BYTES");
  return bytes == nullptr ? 0 : std::atoll(bytes);
}
[[maybe_unused]] const bool cache_is_set = [] {
  normgrad::kernels::set_last_level_cache_bytes(cache_bytes_of_environment());
  return true;
}();

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
    const bool shared = slot == problem.big_output() && problem.dx_shares != kDx;
    if (!problem.has(Slot(slot)) || shared) continue;
    out[slot] = std::make_unique<Storage>(problem.tensor[slot]);
    if (is_input(Slot(slot))) out[slot]->write(problem.value[slot]);
    out[slot]->remember();
  }
  return out;
}

std::string changed_bytes(const Problem& problem, const Storages& storages) {
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (storages[slot] == nullptr) continue;
    const bool writable = is_output(Slot(slot)) || slot == problem.dx_shares;
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
  constexpr const char* kNames[] = {"plain", "baseline", "sse4", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

const char* name(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kFast ? "fast" : "exact";
}

std::vector<normgrad::Isa> available_isas() {
  std::vector<normgrad::Isa> out;
  for (const normgrad::Isa isa : kIsas) {
    if (has_own_kernels(isa) && normgrad::set_isa(isa) == isa) out.push_back(isa);
  }
  return out;
}

OtherCache::OtherCache(std::int64_t bytes) { normgrad::kernels::set_last_level_cache_bytes(bytes); }
OtherCache::~OtherCache() {
  normgrad::kernels::set_last_level_cache_bytes(cache_bytes_of_environment());
}

Outputs run_library(const Problem& problem, const RunSettings& settings) {
  normgrad::set_threads(settings.threads);
  normgrad::set_isa(settings.isa);
  const Arithmetic before = normgrad::arithmetic();
  normgrad::set_arithmetic(settings.arithmetic);
  normgrad::Plan plan;
  const Status status = make_plan(problem, &plan);
  normgrad::set_arithmetic(before);  // the plan keeps its own
  if (status != Status::kOk) return {{}, failed_call("make_plan", status)};
  return run_plan(problem, plan, settings.workspace_shift_bytes);
}

Outputs run_plan(const Problem& problem, const normgrad::Plan& plan,
                 std::size_t workspace_shift_bytes) {
  Outputs out;
  Storages storages = make_storages(problem);
  Pointers data;
  data.fill(reinterpret_cast<void*>(std::uintptr_t{16}));  // what is absent is never dereferenced
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (storages[slot] != nullptr) data[slot] = storages[slot]->data();
  }
  const Slot big = problem.big_output();
  if (problem.dx_shares != kDx && problem.has(big)) data[big] = data[problem.dx_shares];
  Workspace workspace(plan.workspace_bytes(), workspace_shift_bytes);
  const Status status = run(problem, plan, data, workspace.data());
  if (status != Status::kOk) return {{}, failed_call("run", status)};

  out.failure = changed_bytes(problem, storages);
  if (!workspace.guards_intact()) out.failure += " bytes beside the workspace were changed";
  for (const Slot slot : kOutputs) {
    if (!problem.has(slot)) continue;
    const bool shared = slot == big && problem.dx_shares != kDx;
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
      if (a[i] == b[i]) continue;
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
