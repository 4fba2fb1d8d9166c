#include "runtime/layout.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "runtime/sizes.h"

namespace normgrad {
namespace {

__extension__ using Wide = __int128;  // sums over two tensors need not fit into 64 bits

// One variable of sum(step * i) = target, 0 <= i <= last.
struct Variable {
  std::int64_t step;
  std::int64_t last;
};

// Counts solutions of sum(step * i) = target over bounded non-negative i, up to `limit`. Depth
// first from the largest step; what the smaller steps can reach together bounds each choice to one
// or two values in ordinary layouts.
class BoundedSum {
 public:
  void add(std::int64_t step, std::int64_t last) {
    if (last == 0) return;
    for (int k = 0; k < count_; ++k) {
      if (variables_[k].step == step) {
        variables_[k].last += last;
        return;
      }
    }
    variables_[count_++] = {step, last};
  }

  int solutions(Wide target, int limit) {
    std::sort(variables_, variables_ + count_,
              [](const Variable& a, const Variable& b) { return a.step > b.step; });
    reach_[count_] = 0;
    gcd_[count_] = 0;
    for (int k = count_ - 1; k >= 0; --k) {
      reach_[k] = reach_[k + 1] + Wide{variables_[k].step} * variables_[k].last;
      gcd_[k] = std::gcd(gcd_[k + 1], variables_[k].step);
    }
    limit_ = limit;
    descend(0, target);
    return budget_ > 0 ? found_ : limit;
  }

 private:
  static constexpr int kMaxVariables = 2 * kMaxRank + 2;

  void descend(int k, Wide target) {
    if (found_ >= limit_ || budget_ <= 0) return;
    --budget_;
    if (target < 0 || target > reach_[k]) return;
    if (k == count_) {
      ++found_;
      return;
    }
    if (target % gcd_[k] != 0) return;
    const Variable v = variables_[k];
    const Wide rest = target - reach_[k + 1];
    const Wide first = rest > 0 ? (rest + v.step - 1) / v.step : 0;
    const Wide last = std::min<Wide>(v.last, target / v.step);
    for (Wide i = first; i <= last && found_ < limit_ && budget_ > 0; ++i) {
      descend(k + 1, target - i * v.step);
    }
  }

  Variable variables_[kMaxVariables];
  int count_ = 0;
  Wide reach_[kMaxVariables + 1];
  std::int64_t gcd_[kMaxVariables + 1];
  int limit_ = 0;
  int found_ = 0;
  int budget_ = 1 << 16;
};

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

// Each dimension steps over all that the later ones reach, as in row-major tensors with or without gaps: the answer for
// most, without a search.
bool is_nested(const Tensor& tensor) {
  std::int64_t reach = 0;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    if (tensor.shape[d] == 1) continue;
    if (magnitude(tensor.strides[d]) <= reach) return false;
    reach += magnitude(tensor.strides[d]) * (tensor.shape[d] - 1);
  }
  return true;
}

}  // namespace

const char* name_of(DataType dtype) {
  switch (dtype) {
    case DataType::kNone:
      return "none";
    case DataType::kF16:
      return "f16";
    case DataType::kBF16:
      return "bf16";
    case DataType::kF32:
      return "f32";
    case DataType::kF64:
      return "f64";
    case DataType::kI32:
      return "i32";
    case DataType::kOther:
      break;
  }
  return "a type that is none of f16, bf16, f32";
}

ShapeText text_of(int rank, const std::int64_t* extents) {
  ShapeText shape;
  char* out = shape.text;
  *out++ = '(';
  for (int d = 0; d < rank; ++d) {
    out += std::snprintf(out, 23, d == 0 ? "%lld" : ", %lld", static_cast<long long>(extents[d]));
  }
  *out++ = ')';
  *out = '\0';
  return shape;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

bool is_empty(const Tensor& tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.rank, 0) != tensor.shape + tensor.rank;
}

bool measure(const Tensor& tensor, std::int64_t* elements, ByteRange* range) {
  *elements = 0;
  *range = {};
  if (std::any_of(tensor.shape, tensor.shape + tensor.rank,
                  [](auto extent) { return extent < 0; })) {
    return false;
  }
  if (is_empty(tensor)) return true;
  Checked count(1);
  Checked lowest(0);
  Checked highest(1);
  for (int d = 0; d < tensor.rank; ++d) {
    const Checked span = Checked(tensor.shape[d] - 1) * tensor.strides[d];
    (tensor.strides[d] < 0 ? lowest : highest) = (tensor.strides[d] < 0 ? lowest : highest) + span;
    count = count * tensor.shape[d];
  }
  const Checked begin = lowest * size_of(tensor.dtype);
  const Checked end = highest * size_of(tensor.dtype);
  const Checked bytes = end + begin * -1;
  *elements = count.value();
  *range = {begin.value(), end.value()};
  return count.ok() && bytes.ok() && (count * size_of(tensor.dtype)).ok();
}

bool overlaps_itself(const Tensor& tensor) {
  if (is_empty(tensor) || is_nested(tensor)) return false;
  // Two tuples meet if sum(stride * difference) = 0 for differences in [-(extent-1), extent-1], not
  // all 0. Shifted by extent-1 to be non-negative, the all-zero one is the single solution of a
  // tensor that does not overlap.
  BoundedSum differences;
  std::int64_t seen[kMaxRank];
  int dims = 0;
  std::int64_t centre = 0;
  for (int d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] == 1) continue;
    const std::int64_t stride = magnitude(tensor.strides[d]);
    if (stride == 0 || std::find(seen, seen + dims, stride) != seen + dims) return true;
    seen[dims++] = stride;
    differences.add(stride, 2 * (tensor.shape[d] - 1));
    centre += stride * (tensor.shape[d] - 1);
  }
  return differences.solutions(centre, 2) > 1;
}

bool same_view(const Tensor& a, const void* a_data, const Tensor& b, const void* b_data) {
  if (a_data != b_data || a.dtype != b.dtype || !same_shape(a, b)) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

bool share_memory(const Argument& a, const void* a_data, const Argument& b, const void* b_data) {
  const Wide a_begin = Wide{reinterpret_cast<std::intptr_t>(a_data)} + a.range.begin;
  const Wide a_end = Wide{reinterpret_cast<std::intptr_t>(a_data)} + a.range.end;
  const Wide b_begin = Wide{reinterpret_cast<std::intptr_t>(b_data)} + b.range.begin;
  const Wide b_end = Wide{reinterpret_cast<std::intptr_t>(b_data)} + b.range.end;
  if (a_begin >= b_end || b_begin >= a_end) return false;
  // a_begin + (sum over a) + (byte of a) = b_end - 1 - (the same counted down over b): one sum of
  // non-negative terms.
  BoundedSum bytes;
  for (const Tensor* t : {&a.tensor, &b.tensor}) {
    const std::int64_t size = size_of(t->dtype);
    bytes.add(1, size - 1);
    for (int d = 0; d < t->rank; ++d) {
      if (t->shape[d] == 1 || t->strides[d] == 0)
        continue;  // a stride that is not used may be any number
      bytes.add(magnitude(t->strides[d]) * size, t->shape[d] - 1);
    }
  }
  return bytes.solutions(b_end - 1 - a_begin, 1) > 0;
}

int collapse(int rank, std::int64_t* extents, std::int64_t (*strides)[kMaxRank], int count) {
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] == 1) continue;
    bool joins = kept > 0;
    for (int t = 0; joins && t < count; ++t) {
      joins = strides[t][kept - 1] == strides[t][d] * extents[d];
    }
    const int to = joins ? kept - 1 : kept++;
    extents[to] = joins ? extents[to] * extents[d] : extents[d];
    for (int t = 0; t < count; ++t) strides[t][to] = strides[t][d];
  }
  return kept;
}

}  // namespace normgrad
