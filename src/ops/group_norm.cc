// GroupNorm, forward and backward; InstanceNorm is that of groups of one channel. Every (sample, channel) is a channel of its own to
// the walks of channel norms: they give the sums of each, from which what belongs to a group follows.
#include <cmath>
#include <limits>

#include "kernels/element.h"
#include "kernels/pairwise.h"
#include "kernels/parallel_for.h"
#include "ops/channel_call.h"
#include "ops/channel_forward.h"
#include "ops/channel_split.h"
#include "ops/folds.h"
#include "ops/operators.h"
#include "ops/statistics.h"
#include "runtime/failure.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;
using enum Presence;

using kernels::RowMap;

// clang-format off
constexpr Rule kForwardRules[] = {
    {kY, kOut, kWhole, kElements},
    {kMean, kOut, kGroups, kNumber},
    {kRstd, kOut, kGroups, kNumber},
    {kVar, kOut, kGroups, kNumber},
    {kX, kIn, kWhole, kElements, kRequired},
    {kW, kIn, kChannels, kNumber},
    {kB, kIn, kChannels, kNumber},
};
constexpr Rule kBackwardRules[] = {
    {kDx, kOut, kWhole, kElements},
    {kDw, kOut, kChannels, kNumber},
    {kDb, kOut, kChannels, kNumber},
    {kDy, kIn, kWhole, kElements, kRequired},
    {kX, kIn, kWhole, kElements, kRequired},
    {kMean, kIn, kGroups, kNumber, kRequired},
    {kRstd, kIn, kGroups, kNumber, kRequired},
    {kW, kIn, kChannels, kNumber},
};
// clang-format on

// A part: samples whose channels, one after the other, are the channels of one call. All samples are one part where they lie as far
// apart as their channels do, and are walked by planes; otherwise each is a part, and threads share the parts.
enum : int { kPart };

// Sums of the real channels' gradients, where a part leaves them: space.sums of each part.
bool is_one_part(const PlanBody& plan) {
  const ChannelSplit& split = plan.channel;
  if (split.n == 1) return true;
  if (split.by_pixels && split.l > 1) return false;
  for (const Rule& rule : plan.op->rules) {
    const int i = index_of(rule.arg);
    if (rule.shape != kWhole || !plan.argument[i].tensor.present()) continue;
    if (split.n_strides[i] != split.channels * split.channel_strides[i]) return false;
  }
  return true;
}
std::int64_t parts(const PlanBody& plan) { return is_one_part(plan) ? 1 : plan.channel.n; }

Status prepare(PlanBody& plan, bool computes_sums) {
  const Tensor& data = plan.tensor(plan.op->data);
  if (plan.channel_axis != 1) {
    return fail(Status::kBadParam, "the channel axis is %d, but must be 1", plan.channel_axis);
  }
  if (plan.groups < 1 || data.shape[1] % plan.groups != 0) {
    return fail(Status::kBadParam, "groups is %lld, but must divide the %lld channels of %s",
                static_cast<long long>(plan.groups), static_cast<long long>(data.shape[1]),
                data.name);
  }
  split_channels(plan);
  if (plan.channel.l == 0) return Status::kOk;
  auto part = std::make_shared<PlanBody>(plan);
  ChannelSplit& split = part->channel;
  const bool one = is_one_part(plan);
  split.channels *= one ? split.n : 1;
  split.n = split.n_chunks = split.chunk_n = 1;
  if (one && plan.channel.n > 1) split.by_pixels = false;
  for (std::int64_t& stride : split.n_strides) stride = 0;
  NORMGRAD_TRY(reserve_channel_space(*part, computes_sums));
  const Checked bytes = Checked(static_cast<std::int64_t>(part->workspace_bytes)) * parts(plan);
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%s is larger than memory can hold the sums of", data.name);
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  plan.parts[kPart] = std::move(part);
  return Status::kOk;
}

// Channels of a part, numbered from its first sample on, as samples, groups and channels of the whole.
class Groups {
 public:
  Groups(const PlanBody& plan, void* const* data, std::int64_t first_sample)
      : plan_(plan),
        data_(data),
        first_sample_(first_sample),
        channels_(plan.channel.channels),
        each_(channels_ / plan.groups) {}

  std::int64_t each() const { return each_; }  // channels of a group
  // body(first, group of all, channel of all) for the groups of [begin, end), whole ones.
  template <class Body>
  void each_group(std::int64_t begin, std::int64_t end, Body&& body) const {
    for (; begin < end; begin += each_) {
      body(begin, first_sample_ * plan_.groups + begin / each_, begin % channels_);
    }
  }
  double load(Arg arg, std::int64_t group, double absent) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return absent;
    return kernels::load_element(data_[index_of(arg)], tensor.dtype, offset(tensor, group));
  }
  void store(Arg arg, std::int64_t group, double value) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return;
    kernels::store_element(data_[index_of(arg)], tensor.dtype, offset(tensor, group), value);
  }

 private:
  std::int64_t offset(const Tensor& tensor, std::int64_t group) const {
    return group / plan_.groups * tensor.strides[0] + group % plan_.groups * tensor.strides[1];
  }
  const PlanBody& plan_;
  void* const* data_;
  const std::int64_t first_sample_, channels_, each_;
};

// Where the tensors of a part begin.
struct PartData {
  PartData(const PlanBody& plan, void* const* data, std::int64_t sample) {
    std::copy_n(data, kArgs, at);
    for (const Rule& rule : plan.op->rules) {
      const int i = index_of(rule.arg);
      const Tensor& tensor = plan.argument[i].tensor;
      if (rule.shape != kWhole || !tensor.present()) continue;
      at[i] =
          static_cast<char*>(data[i]) + sample * plan.channel.n_strides[i] * size_of(tensor.dtype);
    }
  }
  void* at[kArgs];
};

// body(part, data of the part, first sample, its workspace).
template <class Body>
void each_part(const PlanBody& plan, void* const* data, std::byte* workspace, Body&& body) {
  const PlanBody& part = *plan.parts[kPart];
  const std::int64_t elements = plan.channel.n * plan.channel.channels * plan.channel.l;
  const auto bytes = static_cast<std::int64_t>(part.workspace_bytes);
  kernels::parallel_for(parts(plan), elements, [&](std::int64_t i) {
    const PartData at(plan, data, i);
    body(part, at.at, i, workspace + i * bytes);
  });
}

// ---- forward ----

class GroupForward final : public ChannelCall {
 public:
  GroupForward(const PlanBody& plan_body, const Groups& groups, void* const* data,
               std::byte* workspace)
      : ChannelCall(plan_body,
                    {.form = kernels::Form::kX,
                     .g = index_of(kX),
                     .x = index_of(kX),
                     .out = index_of(kY),
                     .computes_sums = true,
                     .wants_sums = true,
                     .unit = groups.each()},
                    data, workspace),
        groups_(groups) {}

  void begin(std::int64_t begin, std::int64_t end) const override {
    std::fill(space.exact + begin, space.exact + end, fast.exact);
    // Planes prepare maps before there are any.
    for (std::int64_t c = begin; c < end; ++c) space.maps[c] = {};
  }

  // The moments of a group's channels become those of the group, in the place of its first channel's.
  void set_maps(std::int64_t begin, std::int64_t end) const override {
    groups_.each_group(begin, end, [&](std::int64_t first, std::int64_t, std::int64_t channel) {
      ChannelSums* sums = space.sums + first;
      fold_moments(
          unit, [&](std::int64_t i) { return i * split.l; },
          [&](std::int64_t to, std::int64_t from, const kernels::Merge& merge) {
            merge(sums[from].first, sums[from].second, sums[to].first, sums[to].second);
          });
      const Statistics of_group = statistics(first);
      if (!wants_out) return;
      each_batch(0, unit, [&](std::int64_t some, std::int64_t last) {
        ChannelBatch w, b;
        parameters.load(index_of(kW), channel + some, channel + last, 1, w);
        parameters.load(index_of(kB), channel + some, channel + last, 0, b);
        for (std::int64_t i = 0; i < last - some; ++i) {
          RowMap& map = space.maps[first + some + i];
          set_forward_map(of_group.mean, of_group.rest, of_group.r, w[i], b[i], map);
          space.exact[first + some + i] |= !map.round(map.r) || !kernels::in_range(map.constant());
        }
      });
    });
  }

  void store_results(std::int64_t, std::int64_t) const override {}
  // When all is written: statistics may lie in place of x.
  void store_statistics() const {
    groups_.each_group(0, split.channels,
                       [&](std::int64_t first, std::int64_t group, std::int64_t) {
                         const Statistics of_group = statistics(first);
                         groups_.store(kMean, group, of_group.mean);
                         groups_.store(kRstd, group, of_group.r);
                         groups_.store(kVar, group, of_group.var);
                       });
  }

  bool sums_are_bad(std::int64_t channel) const override {
    const ChannelSums& sums = space.sums[channel];
    return !std::isfinite(sums.first) || !has_squares(sums.second, plan.eps);
  }

  void finish_empty() const override {}

 private:
  struct Statistics {
    double mean, rest, var, r;
  };
  // Of the group whose moments the first of its channels holds.
  Statistics statistics(std::int64_t first) const {
    const ChannelSums& sums = space.sums[first];
    const auto n = static_cast<double>(unit * split.l);
    Statistics of;
    of.mean = sums.first / n;
    of.rest = rest_of_mean(sums.first, n, of.mean);
    of.var = (sums.second < 0 ? 0 : sums.second) / n;
    of.r = rstd_of(of.var, plan.eps);
    return of;
  }
  const Groups& groups_;
};

Status prepare_forward(PlanBody& plan) { return prepare(plan, true); }

void execute_forward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const bool wants_any =
      plan.tensor(kMean).present() || plan.tensor(kRstd).present() || plan.tensor(kVar).present();
  if (plan.channel.l == 0 && !wants_any) return;
  if (plan.channel.l == 0) {
    const Groups groups(plan, data, 0);
    const std::int64_t all = plan.channel.n * plan.groups;
    for (std::int64_t g = 0; g < all; ++g) {
      groups.store(kMean, g, 0);
      for (const Arg arg : {kRstd, kVar})
        groups.store(arg, g, std::numeric_limits<double>::quiet_NaN());
    }
    return;
  }
  each_part(plan, data, workspace,
            [&](const PlanBody& part, void* const* at, std::int64_t sample, std::byte* space) {
              const Groups groups(plan, data, sample);
              GroupForward(part, groups, at, space).run();
            });
  // All samples are read before.
  const auto bytes = static_cast<std::int64_t>(plan.parts[kPart]->workspace_bytes);
  for (std::int64_t i = 0; i < parts(plan); ++i) {
    const PartData at(plan, data, i);
    const Groups groups(plan, data, i);
    GroupForward(*plan.parts[kPart], groups, at.at, workspace + i * bytes).store_statistics();
  }
}

// ---- backward ----

// y = w*x_hat + b with x_hat = (x - mean)*r, statistics of all n elements of a group. As for LayerNorm, a = w*dy:
//   dx = r*(a - mean(a) - x_hat*mean(a*x_hat))
// and as w is constant in a channel, sum(a) and sum(a*x_hat) are those of dy and dy*(x - mean) in each channel, times w and w*r. Over
// samples
//   dw = sum(r*sum(dy*(x - mean))),   db = sum(dy)
class GroupGradient final : public ChannelCall {
 public:
  GroupGradient(const PlanBody& plan_body, const Groups& groups, void* const* data,
                std::byte* workspace)
      : ChannelCall(plan_body,
                    {.form = kernels::Form::kGX,
                     .g = index_of(kDy),
                     .x = index_of(kX),
                     .out = index_of(kDx),
                     .computes_sums = true,
                     .wants_sums = true,
                     .unit = groups.each()},
                    data, workspace),
        groups_(groups) {}

  void begin(std::int64_t begin, std::int64_t end) const override {
    groups_.each_group(begin, end, [&](std::int64_t first, std::int64_t group, std::int64_t) {
      const double mean = groups_.load(kMean, group, 0), r = groups_.load(kRstd, group, 1);
      for (std::int64_t c = first; c < first + unit; ++c) {
        space.maps[c] = {.mean = mean};
        space.r[c] = r;
        space.exact[c] = fast.exact;
      }
    });
  }

  void set_maps(std::int64_t begin, std::int64_t end) const override {
    if (!wants_out) return;
    const double share = 1 / static_cast<double>(unit * split.l);
    groups_.each_group(begin, end, [&](std::int64_t first, std::int64_t, std::int64_t channel) {
      double sum_a = 0, sum_a_x_mu = 0;
      each_weight(first, channel, [&](std::int64_t c, double w) {
        sum_a += w * space.sums[c].first;
        sum_a_x_mu += w * space.sums[c].second;
      });
      const double r = space.r[first];
      each_weight(first, channel, [&](std::int64_t c, double w) {
        RowMap& map = space.maps[c];
        map.scale = r, map.w = w;
        map.c1 = sum_a * share, map.c2 = r * (r * sum_a_x_mu) * share;
        const bool has_mean = std::abs(map.mean) <= 1e30;  // in two parts of f32
        space.exact[c] |= !map.round(r) || !has_mean;
      });
    });
  }

  void store_results(std::int64_t, std::int64_t) const override {}

  bool sums_are_bad(std::int64_t channel) const override {
    const ChannelSums& sums = space.sums[channel];
    return !std::isfinite(sums.first) || !std::isfinite(sums.second) ||
           !kernels::in_range(space.r[channel]);
  }

  void finish_empty() const override {}

 private:
  template <class Body>
  void each_weight(std::int64_t first, std::int64_t channel, Body&& body) const {
    each_batch(0, unit, [&](std::int64_t begin, std::int64_t end) {
      ChannelBatch w;
      parameters.load(index_of(kW), channel + begin, channel + end, 1, w);
      for (std::int64_t i = begin; i < end; ++i) body(first + i, w[i - begin]);
    });
  }
  const Groups& groups_;
};

// dw and db from the sums that the parts left, over samples in their order.
class SampleSums {
 public:
  SampleSums(const PlanBody& plan, std::byte* workspace) : plan_(plan), workspace_(workspace) {}

  void store(void* const* data) const {
    const Parameters parameters(plan_, data);
    each_batch(0, plan_.channel.channels, [&](std::int64_t begin, std::int64_t end) {
      ChannelBatch dw, db;
      for (std::int64_t c = begin; c < end; ++c) {
        kernels::Pairwise<2> sums;
        for (std::int64_t n = 0; n < plan_.channel.n; ++n) sums.add(terms(n, c));
        const auto both = sums.finish();
        dw[c - begin] = both[0], db[c - begin] = both[1];
      }
      parameters.store(index_of(kDw), begin, end, dw);
      parameters.store(index_of(kDb), begin, end, db);
    });
  }

 private:
  std::array<double, 2> terms(std::int64_t sample, std::int64_t channel) const {
    const bool one = parts(plan_) == 1;
    const PlanBody& part = *plan_.parts[kPart];
    const auto bytes = static_cast<std::int64_t>(part.workspace_bytes);
    const ChannelSpace space(part.channel, true, workspace_ + (one ? 0 : sample * bytes));
    const std::int64_t c = one ? sample * plan_.channel.channels + channel : channel;
    return {space.r[c] * space.sums[c].second, space.sums[c].first};
  }
  const PlanBody& plan_;
  std::byte* workspace_;
};

Status prepare_backward(PlanBody& plan) { return prepare(plan, true); }

void execute_backward(const PlanBody& plan, void* const* data, std::byte* workspace) {
  if (plan.channel.l == 0 || plan.channel.n == 0) {
    const Parameters parameters(plan, data);
    each_batch(0, plan.channel.channels, [&](std::int64_t begin, std::int64_t end) {
      const ChannelBatch zeros{};
      for (const Arg arg : {kDw, kDb}) parameters.store(index_of(arg), begin, end, zeros);
    });
    return;
  }
  each_part(plan, data, workspace,
            [&](const PlanBody& part, void* const* at, std::int64_t sample, std::byte* space) {
              GroupGradient(part, Groups(plan, data, sample), at, space).run();
            });
  SampleSums(plan, workspace).store(data);
}

}  // namespace

constinit const Operator kGroupNorm{.name = "GroupNorm",
                                    .walk = Walk::kChannels,
                                    .data = kX,
                                    .rules = kForwardRules,
                                    .prepare = prepare_forward,
                                    .execute = execute_forward};
constinit const Operator kGroupNormBackward{.name = "GroupNormBackward",
                                            .walk = Walk::kChannels,
                                            .data = kX,
                                            .rules = kBackwardRules,
                                            .prepare = prepare_backward,
                                            .execute = execute_backward};

}  // namespace normgrad
