// AdaLayerNorm backward, made of gradients of LayerNorm: one over all rows, and one for each segment, the rows that share a scale.
#include "kernels/element.h"
#include "ops/operators.h"
#include "runtime/failure.h"
#include "runtime/sizes.h"

namespace normgrad {
namespace {

using enum Arg;
using enum Direction;
using enum Shape;
using enum Types;
using enum Presence;

// clang-format off
constexpr Rule kRules[] = {
    {kDx, kOut, kWhole, kParameter},
    {kDscale, kOut, kSegments, kParameter},
    {kDshift, kOut, kSegments, kParameter},
    {kDw, kOut, kColumns, kNumber},
    {kDb, kOut, kColumns, kNumber},
    {kDy, kIn, kWhole, kParameter, kRequired},
    {kX, kIn, kWhole, kParameter, kRequired},
    {kMean, kIn, kRows, kNumber, kRequired},
    {kRstd, kIn, kRows, kNumber, kRequired},
    {kScale, kIn, kSpread, kParameter, kRequired},
    {kW, kIn, kColumns, kParameter},
    {kB, kIn, kColumns, kParameter},
};
// clang-format on

// y = z*(1 + scale) + shift, z = x_hat*w + b. With g = dy*(1 + scale), which is d(loss)/d(z), dx, dw and db are LayerNorm's of g.
// Over the rows of a segment, which have scale and shift in common,
//   dscale = sum(dy*z) = w*sum(dy*x_hat) + b*sum(dy),   dshift = sum(dy)
// whose two sums are LayerNorm's dw and db of dy, kept in f64.
enum : int { kAll, kOfSegment };

Tensor f64_row(const char* name, std::int64_t columns) {
  return {DataType::kF64, 1, {columns}, {1}, name};
}

// The axis that numbers the rows of a segment; without one there is a single row.
int segment_axis(const PlanBody& plan) { return plan.tensor(kX).rank - plan.row_axes - 1; }

std::int64_t segments(const PlanBody& plan) {
  const Tensor& any = plan.tensor(plan.tensor(kDscale).present() ? kDscale : kDshift);
  if (is_empty(any)) return 0;
  std::int64_t count = 1;  // of a tensor that fits into memory
  for (int d = 0; d < segment_axis(plan); ++d) count *= any.shape[d];
  return count;
}

bool wants_segments(const PlanBody& plan) {
  return (plan.tensor(kDscale).present() || plan.tensor(kDshift).present()) && segments(plan) > 0;
}

Status make_part(const PlanBody& plan, const Problem& problem, int which, PlanBody& of) {
  auto body = std::make_shared<PlanBody>();
  NORMGRAD_TRY(make_body(problem, *body));
  body->arithmetic = plan.arithmetic;
  of.parts[which] = std::move(body);
  return Status::kOk;
}

Status prepare(PlanBody& plan) {
  const Tensor& x = plan.tensor(kX);
  const std::int64_t columns = x.shape[x.rank - 1];
  Problem all;
  all.op = Op::kLayerNormBackward;
  for (const Arg arg : {kDx, kDw, kDb, kDy, kX, kMean, kRstd, kScale, kW})
    all[arg] = plan.tensor(arg);
  NORMGRAD_TRY(make_part(plan, all, kAll, plan));
  Checked bytes = Checked(static_cast<std::int64_t>(plan.parts[kAll]->workspace_bytes));
  if (wants_segments(plan)) {
    // One segment: of the leading dims the last alone.
    const int axis = segment_axis(plan);
    Problem segment;
    segment.op = Op::kLayerNormBackward;
    for (const Arg arg : {kDy, kX, kMean, kRstd}) {
      const Tensor& whole = plan.tensor(arg);
      Tensor& part = segment[arg];
      part = whole;
      part.rank = arg == kMean || arg == kRstd ? 1 : 2;
      for (int d = 0; d < part.rank; ++d) {
        part.shape[d] = x.shape[axis + d];
        part.strides[d] = whole.strides[axis + d];
      }
    }
    segment[kDw] = f64_row("dscale", columns);
    segment[kDb] = f64_row("dshift", columns);
    NORMGRAD_TRY(make_part(plan, segment, kOfSegment, plan));
    const auto of_segment = static_cast<std::int64_t>(plan.parts[kOfSegment]->workspace_bytes);
    bytes =
        Checked(std::max(bytes.value(), of_segment)) + Checked(segments(plan)) * columns * 16 + 8;
  }
  if (!bytes.ok()) {
    return fail(Status::kBadShape, "%s has more columns than memory can hold", x.name);
  }
  plan.workspace_bytes = static_cast<std::size_t>(bytes.value());
  return Status::kOk;
}

class Segments {
 public:
  Segments(const PlanBody& plan, void* const* data, std::byte* workspace)
      : plan_(plan),
        data_(data),
        x_(plan.tensor(kX)),
        segments_(segments(plan)),
        columns_(x_.shape[x_.rank - 1]),
        numbers_(
            reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(workspace) + 7) / 8 * 8)) {}

  // Behind the numbers.
  std::byte* workspace() const {
    return reinterpret_cast<std::byte*>(numbers_ + 2 * segments_ * columns_);
  }

  // dscale and dshift in f64. Nothing is stored before all inputs have been read: an output may lie in place of one.
  void compute() const {
    for (std::int64_t s = 0; s < segments_; ++s) {
      const PlanBody& part = *plan_.parts[kOfSegment];
      void* data[kArgs] = {};
      for (const Arg arg : {kDy, kX, kMean, kRstd}) {
        const Tensor& tensor = plan_.tensor(arg);
        data[index_of(arg)] =
            static_cast<char*>(data_[index_of(arg)]) + offset(tensor, s) * size_of(tensor.dtype);
      }
      double* sums = numbers_ + 2 * s * columns_;
      data[index_of(kDw)] = sums;
      data[index_of(kDb)] = sums + columns_;
      part.op->execute(part, data, workspace());
      for (std::int64_t c = 0; c < columns_; ++c) {
        sums[c] = parameter(kW, 1, c) * sums[c] + parameter(kB, 0, c) * sums[columns_ + c];
      }
    }
  }
  void store() const {
    for (std::int64_t s = 0; s < segments_; ++s) {
      store(kDscale, s, numbers_ + 2 * s * columns_);
      store(kDshift, s, numbers_ + (2 * s + 1) * columns_);
    }
  }

 private:
  // Of a tensor that has the leading dims in front: where a segment begins, in elements.
  std::int64_t offset(const Tensor& tensor, std::int64_t segment) const {
    std::int64_t at = 0;
    for (int d = segment_axis(plan_) - 1; d >= 0; segment /= x_.shape[d--]) {
      at += segment % x_.shape[d] * tensor.strides[d];
    }
    return at;
  }
  double parameter(Arg arg, double absent, std::int64_t column) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return absent;
    return kernels::load_element(data_[index_of(arg)], tensor.dtype, column * tensor.strides[0]);
  }
  void store(Arg arg, std::int64_t segment, const double* numbers) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return;
    const std::int64_t at = offset(tensor, segment), apart = tensor.strides[tensor.rank - 1];
    for (std::int64_t c = 0; c < columns_; ++c) {
      kernels::store_element(data_[index_of(arg)], tensor.dtype, at + c * apart, numbers[c]);
    }
  }

  const PlanBody& plan_;
  void* const* data_;
  const Tensor& x_;
  const std::int64_t segments_, columns_;
  double* numbers_;  // [segment][dscale, dshift][column]
};

void execute(const PlanBody& plan, void* const* data, std::byte* workspace) {
  const PlanBody& all = *plan.parts[kAll];
  if (!wants_segments(plan)) return all.op->execute(all, data, workspace);
  const Segments segments(plan, data, workspace);
  segments.compute();
  all.op->execute(all, data, segments.workspace());
  segments.store();
}

}  // namespace

constinit const Operator kAdaLayerNormBackward{.name = "AdaLayerNormBackward",
                                               .walk = Walk::kRows,
                                               .data = kX,
                                               .rules = kRules,
                                               .prepare = prepare,
                                               .execute = execute};

}  // namespace normgrad
