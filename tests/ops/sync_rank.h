// One rank of a SyncBatchNorm: its part of a batch in memory of its own, forward and backward.
#ifndef TESTS_OPS_SYNC_RANK_H
#define TESTS_OPS_SYNC_RANK_H

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "normgrad/sync_batch_norm.h"
#include "ops/examples.h"
#include "ops/storage.h"

namespace ops_test {

// The whole batch: x, w, b, dy and running statistics.
inline Problem example_batch(Format data, const std::vector<std::int64_t>& shape,
                             DataClass data_class = DataClass::kNormal) {
  Problem batch = example(Form::kForwardTraining, data, shape, 1, data_class);
  const Problem backward = example(Form::kBatchNormTraining, data, shape, 2, data_class);
  batch.tensor[kDy] = backward.tensor[kDy];
  batch.value[kDy] = backward.value[kDy];
  return batch;
}

struct SyncOptions {
  int ranks = 1;
  bool f32_sums = false;
  bool in_rank_order = false;
  Format parameters = Format::kF32;  // of w, b, dw, db
};

class SyncRank {
 public:
  // Rows [begin, end) of dim 0 of the batch are its part.
  SyncRank(const Problem& batch, std::size_t begin, std::size_t end, const SyncOptions& options)
      : eps_(batch.eps), momentum_(batch.momentum), options_(options) {
    std::vector<std::int64_t> shape = batch.tensor[kX].shape;
    const std::int64_t rows = shape[0], channels = shape[1];
    shape[0] = static_cast<std::int64_t>(end - begin);
    for (const Slot slot : {kX, kY, kDy, kDx}) add(slot, batch.tensor[kX].format, shape);
    for (const Slot slot : {kW, kB, kDw, kDb}) add(slot, options.parameters, {channels});
    for (const Slot slot : {kMeanOut, kRstdOut}) add(slot, Format::kF64, {channels});
    for (const Slot slot : {kRunningMean, kRunningVar}) add(slot, Format::kF32, {channels});
    for (const Slot slot : {kW, kB, kRunningMean, kRunningVar}) write(slot, batch.value[slot]);
    for (const Slot slot : {kX, kDy}) {
      const Values& all = batch.value[slot];
      const std::size_t row = rows == 0 ? 0 : all.size() / static_cast<std::size_t>(rows);
      write(slot, Values(all.begin() + static_cast<std::ptrdiff_t>(begin * row),
                         all.begin() + static_cast<std::ptrdiff_t>(end * row)));
    }
  }

  normgrad::SyncProblem forward_problem() const {
    normgrad::SyncProblem p;
    p.op = normgrad::Op::kSyncBatchNorm;
    for (const auto& [slot, arg] : kForward) p[arg] = tensor(slot);
    p.eps = eps_, p.momentum = momentum_, p.ranks = options_.ranks;
    return p;
  }
  normgrad::SyncProblem backward_problem() const {
    normgrad::SyncProblem p;
    p.op = normgrad::Op::kSyncBatchNormBackward;
    for (const auto& [slot, arg] : kBackward) p[arg] = tensor(slot);
    if (options_.f32_sums) p.sums = normgrad::DataType::kF32;
    p.in_rank_order = options_.in_rank_order, p.ranks = options_.ranks;
    return p;
  }
  normgrad::Addresses forward_data() { return addresses(kForward); }
  normgrad::Addresses backward_data() { return addresses(kBackward); }

  normgrad::Status forward(const normgrad::Exchange& exchange) {
    normgrad::SyncPlan plan;
    const normgrad::Status status = make_plan(forward_problem(), &plan);
    return status != normgrad::Status::kOk ? status : run(plan, forward_data(), exchange);
  }
  normgrad::Status backward(const normgrad::Exchange& exchange) {
    normgrad::SyncPlan plan;
    const normgrad::Status status = make_plan(backward_problem(), &plan);
    return status != normgrad::Status::kOk ? status : run(plan, backward_data(), exchange);
  }

  // `slot` lies in place of `other`, whose format and shape it has.
  void share(Slot slot, Slot other) { place_[slot] = other; }
  void* at(Slot slot) { return storage(slot).data(); }
  Storage& storage(Slot slot) {
    const auto shared = place_.find(slot);
    return storage_.at(shared == place_.end() ? slot : shared->second);
  }
  Format format(Slot slot) const { return spec_.at(slot).format; }
  Bits bits(Slot slot) { return storage(slot).read(); }
  Values values(Slot slot) {
    Values out;
    for (const std::uint64_t element : bits(slot)) out.push_back(decode(format(slot), element));
    return out;
  }
  void remember() {
    for (auto& [slot, storage] : storage_) storage.remember();
  }
  // "" or what changed since then.
  std::string changes() const {
    for (const auto& [slot, storage] : storage_) {
      const std::string change = storage.changes(false);
      if (!change.empty()) return std::string(name(slot)) + ": " + change;
    }
    return "";
  }

  normgrad::Tensor tensor(Slot slot) const {
    const TensorSpec& spec = spec_.at(slot);
    normgrad::Tensor out;
    out.dtype = spec.format == Format::kF16    ? normgrad::DataType::kF16
                : spec.format == Format::kBF16 ? normgrad::DataType::kBF16
                : spec.format == Format::kF32  ? normgrad::DataType::kF32
                                               : normgrad::DataType::kF64;
    out.rank = static_cast<int>(spec.shape.size());
    for (std::size_t d = 0; d < spec.shape.size(); ++d) {
      out.shape[d] = spec.shape[d], out.strides[d] = spec.strides[d];
    }
    out.name = slot == kMeanOut ? "mean" : slot == kRstdOut ? "rstd" : name(slot);
    return out;
  }

 private:
  struct Named {
    Slot slot;
    normgrad::Arg arg;
  };
  static constexpr Named kForward[] = {{kY, normgrad::Arg::kY},
                                       {kMeanOut, normgrad::Arg::kMean},
                                       {kRstdOut, normgrad::Arg::kRstd},
                                       {kRunningMean, normgrad::Arg::kRunningMean},
                                       {kRunningVar, normgrad::Arg::kRunningVar},
                                       {kX, normgrad::Arg::kX},
                                       {kW, normgrad::Arg::kW},
                                       {kB, normgrad::Arg::kB}};
  static constexpr Named kBackward[] = {
      {kDx, normgrad::Arg::kDx},        {kDw, normgrad::Arg::kDw},       {kDb, normgrad::Arg::kDb},
      {kDy, normgrad::Arg::kDy},        {kX, normgrad::Arg::kX},         {kW, normgrad::Arg::kW},
      {kMeanOut, normgrad::Arg::kMean}, {kRstdOut, normgrad::Arg::kRstd}};

  normgrad::Addresses addresses(std::span<const Named> names) {
    normgrad::Addresses out;
    for (const auto& [slot, arg] : names) out[arg] = at(slot);
    return out;
  }
  normgrad::Status run(const normgrad::SyncPlan& plan, const normgrad::Addresses& data,
                       const normgrad::Exchange& exchange) {
    std::vector<std::byte> workspace(plan.workspace_bytes() + 1);  // at an odd address
    return normgrad::run(plan, data, exchange, workspace.data() + 1, workspace.size() - 1);
  }
  void add(Slot slot, Format format, std::vector<std::int64_t> shape) {
    spec_[slot] = contiguous(format, std::move(shape));
    storage_.emplace(slot, Storage(spec_[slot]));
  }
  void write(Slot slot, const Values& values) { storage_.at(slot).write(values); }

  double eps_, momentum_;
  SyncOptions options_;
  std::map<Slot, TensorSpec> spec_;
  std::map<Slot, Storage> storage_;
  std::map<Slot, Slot> place_;
};

}  // namespace ops_test

#endif
