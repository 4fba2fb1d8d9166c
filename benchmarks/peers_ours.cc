// What the comparison with other libraries (benchmarks/peers) calls from Python: the C++ contract,
// since the C APIs lack some forward passes. A plan is made once and run again and again.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "normgrad/plan.h"

#define NORMGRAD_PEERS_API extern "C" __attribute__((visibility("default")))

namespace {

using normgrad::Arg;
using normgrad::DataType;
using normgrad::Op;

struct Argument {  // as benchmarks/peers/ours.py has it
  const char* name;
  const char* dtype;
  void* address;
  std::int64_t rank, shape[normgrad::kMaxRank], strides[normgrad::kMaxRank];
};

struct Call {
  normgrad::Plan plan;
  normgrad::Addresses addresses;
  std::vector<std::byte> workspace;
};

constexpr std::pair<std::string_view, Op> kOperators[] = {{"layer_norm", Op::kLayerNorm},
                                                          {"rms_norm", Op::kRmsNorm},
                                                          {"batch_norm_training", Op::kBatchNorm},
                                                          {"batch_norm_inference", Op::kBatchNorm}};
constexpr std::pair<std::string_view, Arg> kArguments[] = {
    {"y", Arg::kY},       {"x", Arg::kX},       {"w", Arg::kW},    {"b", Arg::kB},
    {"mean", Arg::kMean}, {"rstd", Arg::kRstd}, {"var", Arg::kVar}};
constexpr std::pair<std::string_view, DataType> kTypes[] = {
    {"float16", DataType::kF16}, {"bfloat16", DataType::kBF16}, {"float32", DataType::kF32}};

template <class Table>
auto named(const Table& table, std::string_view name) {
  for (const auto& [key, value] : table) {
    if (key == name) return value;
  }
  std::terminate();
}

}  // namespace

// Null if the library refuses.
NORMGRAD_PEERS_API Call* normgrad_peers_begin(const char* norm, double eps,
                                              const Argument* arguments, std::int64_t count) {
  normgrad::Problem problem;
  problem.op = named(kOperators, norm);
  problem.training = std::string_view(norm) != "batch_norm_inference";
  problem.eps = eps;
  auto call = std::make_unique<Call>();
  for (const Argument* a = arguments; a != arguments + count; ++a) {
    const Arg arg = named(kArguments, a->name);
    normgrad::Tensor& tensor = problem[arg];
    tensor.dtype = named(kTypes, a->dtype);
    tensor.rank = static_cast<int>(a->rank);
    for (int d = 0; d < tensor.rank; ++d) {
      tensor.shape[d] = a->shape[d];
      tensor.strides[d] = a->strides[d];
    }
    call->addresses[arg] = a->address;
  }
  if (make_plan(problem, &call->plan) != normgrad::Status::kOk) return nullptr;
  call->workspace.resize(call->plan.workspace_bytes());
  return call.release();
}

NORMGRAD_PEERS_API int normgrad_peers_run(Call* call) {
  return static_cast<int>(
      normgrad::run(call->plan, call->addresses, call->workspace.data(), call->workspace.size()));
}

NORMGRAD_PEERS_API void normgrad_peers_end(Call* call) { delete call; }
