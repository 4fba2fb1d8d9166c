// A null that is not allowed is 161001, every other mistake 161002; so a validator need not know the order of the checks,
// but for what stands before them: operators that have nothing to do.
#include <algorithm>

#include "aclnn_call.h"

namespace fuzz::aclnn {
namespace {

bool is_private(int format) {
  return format == 3 || format == 4 || format == 12 || format == 29 || format == 32 ||
         format == 33 || (format >= 50 && format <= 54);
}

bool is_view(const Draft& t) {
  const auto negative = [](std::int64_t n) { return n < 0; };
  if (std::any_of(t.shape.begin(), t.shape.end(), negative) ||
      std::any_of(t.strides.begin(), t.strides.end(), negative) ||
      std::any_of(t.storage.begin(), t.storage.end(), negative) || t.offset < 0) {
    return false;
  }
  if (t.is_empty()) return true;
  const Wide end = t.highest() + t.offset + 1;
  if (end * 8 > INT64_MAX || t.count() * 8 > INT64_MAX) return false;
  if (t.storage.empty()) return true;
  Wide room = 1;
  for (const std::int64_t n : t.storage) room = std::min<Wide>(room * n, Wide{1} << 63);
  return end <= room;
}

int channel_axis(const Call& call) {
  const bool by_format =
      call.api == Api::kBatchNorm || call.api == Api::kBackward || call.api == Api::kFastBackward;
  const Draft& x = call.t[call.api == Api::kBackward || call.api == Api::kFastBackward ? 1 : 0];
  const bool last = by_format && (x.format == ACL_FORMAT_NHWC || x.format == ACL_FORMAT_NDHWC);
  return last ? static_cast<int>(x.shape.size()) - 1 : 1;
}

// Rules of data types between arguments.
bool are_types_right(const Call& call) {
  const auto& t = call.t;
  const auto same = [&](std::size_t a, std::size_t b) {
    return !call.is_given(a) || !call.is_given(b) || t[a].dtype == t[b].dtype;
  };
  const auto float_or = [&](std::size_t data, std::initializer_list<std::size_t> others) {
    if (!call.is_given(data)) return true;
    return std::all_of(others.begin(), others.end(), [&](std::size_t i) {
      return !call.is_given(i) || t[i].dtype == ACL_FLOAT || t[i].dtype == t[data].dtype;
    });
  };
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (!call.is_given(i)) continue;
    const bool counter = call.arguments[i].form == Form::kCounter;
    const bool right =
        counter ? t[i].dtype == ACL_FLOAT || t[i].dtype == ACL_FLOAT16 || t[i].dtype == ACL_INT32
                : is_listed(t[i].dtype);
    if (!right) return false;
  }
  switch (call.api) {
    case Api::kBatchNorm:
      return same(5, 0) && float_or(0, {1, 2, 3, 4, 6, 7}) && same(3, 4) && same(6, 7);
    case Api::kBackward:
      return same(0, 1) && float_or(0, {2, 3, 4, 5, 6}) && same(3, 4) && same(5, 6) && same(7, 0) &&
             float_or(2, {8, 9}) && same(8, 9);
    case Api::kFastBackward:
      return same(0, 1) && same(7, 0);
    case Api::kReduce:
      return same(0, 1);
    case Api::kElemtBackward:
      return same(0, 1) && same(8, 1);
    case Api::kElemt:
      return same(0, 1) && same(0, 2) && same(0, 3) && same(0, 4) && same(0, 5);
    default:
      return true;
  }
}

bool are_formats_right(const Call& call) {
  const auto& t = call.t;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (call.is_given(i) && is_private(t[i].format)) return false;
  }
  const auto same = [&](std::size_t a, std::size_t b) {
    return !call.is_given(a) || !call.is_given(b) || t[a].format == t[b].format;
  };
  const auto fits_rank_5 = [&](std::size_t i) {
    return !call.is_given(i) || t[i].shape.size() != 5 || t[i].format == ACL_FORMAT_NCDHW ||
           t[i].format == ACL_FORMAT_NDHWC;
  };
  switch (call.api) {
    case Api::kBatchNorm:
      return same(0, 5) && fits_rank_5(0) && fits_rank_5(5);
    case Api::kBackward:
      return same(0, 1) && same(0, 7) && fits_rank_5(1) && fits_rank_5(7);
    case Api::kFastBackward:
      return same(0, 1) && same(0, 7);
    case Api::kReduce:
      return same(0, 1);
    default:
      return true;
  }
}

bool are_shapes_right(const Call& call) {
  const auto& t = call.t;
  const Draft& x = t[call.api == Api::kBackward || call.api == Api::kFastBackward ||
                             call.api == Api::kReduce || call.api == Api::kElemtBackward
                         ? 1
                         : 0];
  if (x.shape.size() < 2 || x.shape.size() > 8) return false;
  const std::int64_t channels = x.shape[static_cast<std::size_t>(channel_axis(call))];
  const bool needs_channels =
      call.api == Api::kReduce || call.api == Api::kElemtBackward || call.api == Api::kElemt;
  if (needs_channels && channels == 0) return false;
  std::int64_t rows = 0;
  if (call.api == Api::kGather) {
    if (t[1].shape.size() != 2) return false;
    rows = t[1].shape[0];
  }
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (!call.is_given(i)) continue;
    if (!is_view(t[i])) return false;
    const Extents& shape = t[i].shape;
    switch (call.arguments[i].form) {
      case Form::kData:
        if (shape != x.shape) return false;
        break;
      case Form::kRows:
        if (shape != Extents{rows, channels}) return false;
        break;
      case Form::kCounts:
        if (shape != Extents{rows}) return false;
        break;
      case Form::kCounter:
        if (shape.size() > 8) return false;
        break;
      default: {
        const bool saved =
            (call.api == Api::kBackward || call.api == Api::kFastBackward) && (i == 5 || i == 6);
        if (saved && !call.training && shape == Extents{0}) break;
        if (shape != Extents{channels}) return false;
      }
    }
  }
  return true;
}

bool do_outputs_overlap_themselves(const Call& call) {
  for (std::size_t i = 0; i < call.t.size(); ++i) {
    if (call.is_written(i) && call.t[i].overlaps_itself()) return true;
  }
  return false;
}

}  // namespace

std::optional<int> expected_code(const Call& call) {
  const auto& t = call.t;
  const auto null = [&](std::initializer_list<std::size_t> list) {
    return std::any_of(list.begin(), list.end(), [&](std::size_t i) { return t[i].null; });
  };
  const bool backward = call.api == Api::kBackward || call.api == Api::kFastBackward;
  if (backward) {
    if (null({0, 1})) return 161001;
    if (t[0].is_empty() || t[1].is_empty()) return 0;
    if (call.mask_is_null || call.wanted.empty()) return 161001;
    if (call.wanted.size() != 3) return 161002;
  }
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (call.arguments[i].required && !call.is_ignored(i) && t[i].null) return 161001;
  }
  if (call.api == Api::kBatchNorm && t[0].is_empty()) return std::nullopt;
  if (call.api == Api::kReduce) {
    // Its outputs are looked at before it turns out that there is nothing to add up, the rest afterwards.
    for (const std::size_t i : {0, 1, 2, 3}) {
      if (t[i].is_empty()) return std::nullopt;
    }
  }
  if (!are_types_right(call) || !are_formats_right(call)) return 161002;
  if (!are_shapes_right(call)) return 161002;
  const bool all_small = [&] {
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (call.is_written(i) && !t[i].is_small()) return false;
    }
    return true;
  }();
  if (!all_small) return std::nullopt;
  const bool idle = (call.api == Api::kElemt && t[0].is_empty()) ||
                    (call.api == Api::kElemtBackward && (t[1].is_empty() || t[7].is_empty())) ||
                    (call.api == Api::kStats && t[0].shape[1] == 0) ||
                    (call.api == Api::kGather && t[1].shape[0] == 0);
  if (do_outputs_overlap_themselves(call)) {
    if (idle) return std::nullopt;
    return 161002;
  }
  return 0;
}

}  // namespace fuzz::aclnn
