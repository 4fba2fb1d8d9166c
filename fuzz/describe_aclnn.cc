// The eight aclnn operators, as docs/aclnn.md says what each of them accepts (profile Ascend950). A null that is not
// allowed is 161001, every other mistake 161002; so a validator need not know the order of the checks, but for what
// stands before them: operators that have nothing to do.
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_ops_nn.h>

#include <optional>
#include <sstream>

#include "describe.h"
#include "drafts.h"

namespace fuzz {
namespace {

enum class Api {
  kBatchNorm,
  kBackward,
  kFastBackward,
  kReduce,
  kElemtBackward,
  kStats,
  kGather,
  kElemt
};
// kRows: (W, C). kCounts: (W). kCounter: anything.
enum class Form { kData, kChannels, kRows, kCounts, kCounter };
struct Argument {
  Form form;
  bool output;
  bool required;
};

constexpr Argument kIn{Form::kData, false, true}, kOut{Form::kData, true, true},
    kVector{Form::kChannels, false, true}, kVectorOut{Form::kChannels, true, true},
    kOptional{Form::kChannels, false, false}, kUpdated{Form::kChannels, true, false};

// In the order of the prototypes, numbers and flags left out. Whether an output is required may depend on a flag.
std::vector<Argument> arguments(Api api) {
  switch (api) {
    case Api::kBatchNorm:
      return {kIn, kOptional, kOptional, kUpdated, kUpdated, kOut, kVectorOut, kVectorOut};
    case Api::kBackward:
    case Api::kFastBackward:
      return {kIn,       kIn,       kOptional, kOptional,  kOptional,
              kOptional, kOptional, kOut,      kVectorOut, kVectorOut};
    case Api::kReduce:
      return {kIn,        kIn,        kVector,    kVector,   kOptional,
              kVectorOut, kVectorOut, kVectorOut, kVectorOut};
    case Api::kElemtBackward:
      return {kIn,       kIn,     kVector, kVector,
              kOptional, kVector, kVector, {Form::kCounter, false, true},
              kOut};
    case Api::kStats:
      return {kIn, kVectorOut, kVectorOut};
    case Api::kGather:
      return {kIn,
              {Form::kRows, false, true},
              {Form::kRows, false, true},
              kUpdated,
              kUpdated,
              {Form::kCounts, false, true},
              kVectorOut,
              kVectorOut};
    default:
      return {kIn, kOptional, kOptional, kVector, kVector, kOut};
  }
}

struct Call {
  Api api;
  std::vector<Argument> arguments;
  std::vector<Draft> t;
  bool training = true;
  std::vector<bool> wanted;  // outputMask, or the three flags of the reduction
  bool mask_is_null = false;
  std::int64_t channels = 0, rows = 0;

  // Not asked for, so never looked at.
  bool is_ignored(std::size_t i) const {
    switch (api) {
      case Api::kBatchNorm:
        return i >= 6 && !training;
      case Api::kBackward:
      case Api::kFastBackward:
        return i >= 7 && !wanted[i - 7];
      case Api::kReduce:
        return i >= 5 && !wanted[i < 7 ? 0 : i - 6];
      default:
        return false;
    }
  }
  bool is_given(std::size_t i) const { return !is_ignored(i) && !t[i].null; }
  // The running statistics are updated in training; by the gathering, both or none.
  bool is_written(std::size_t i) const {
    if (!is_given(i) || !arguments[i].output) return false;
    if (i != 3 && i != 4) return true;
    if (api == Api::kBatchNorm) return training;
    return api != Api::kGather || (is_given(3) && is_given(4));
  }
};

bool is_listed(int dtype) {
  return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}
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

// Nothing: the documents leave it open.
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

Call make_call(Bytes& bytes) {
  Call call;
  call.api = bytes.pick({Api::kBackward, Api::kReduce, Api::kBatchNorm, Api::kFastBackward,
                         Api::kElemtBackward, Api::kStats, Api::kGather, Api::kElemt});
  call.arguments = arguments(call.api);
  call.training = !bytes.one_in(3);
  call.wanted = {!bytes.one_in(4), !bytes.one_in(4), !bytes.one_in(4)};
  const int format = bytes.pick<int>({ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC,
                                      ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC, ACL_FORMAT_NCL});
  Extents shape(2 + bytes.below(5));
  for (std::int64_t& n : shape) n = bytes.pick<std::int64_t>({2, 3, 1, 4, 5, 7, 0, 9, 17});
  while (contiguous(shape)[0] * shape[0] > 2000) *std::max_element(shape.begin(), shape.end()) = 1;
  const int dtype = bytes.pick<int>({ACL_FLOAT, ACL_FLOAT16, ACL_BF16});
  const bool by_format =
      call.api == Api::kBatchNorm || call.api == Api::kBackward || call.api == Api::kFastBackward;
  const bool last = by_format && (format == ACL_FORMAT_NHWC || format == ACL_FORMAT_NDHWC);
  call.channels = last ? shape.back() : shape[1];
  call.rows = bytes.pick<std::int64_t>({2, 1, 3, 0});
  const int of_vectors = bytes.one_in(3) ? dtype : ACL_FLOAT;
  for (const Argument& argument : call.arguments) {
    Extents of_form;
    switch (argument.form) {
      case Form::kData:
        of_form = shape;
        break;
      case Form::kChannels:
        of_form = {call.channels};
        break;
      case Form::kRows:
        of_form = {call.rows, call.channels};
        break;
      default:
        of_form = {call.rows};
    }
    Draft t = draft(bytes, of_form);
    const bool data = argument.form == Form::kData;
    t.dtype = data || call.api == Api::kElemt ? dtype : of_vectors;
    if (argument.form == Form::kCounter) t.dtype = bytes.pick<int>({ACL_FLOAT, ACL_INT32});
    if (bytes.one_in(60)) t.dtype = static_cast<std::int8_t>(bytes.byte());
    t.format = data ? format : ACL_FORMAT_ND;
    if (bytes.one_in(60)) t.format = static_cast<std::int8_t>(bytes.byte());
    if (bytes.one_in(8)) t.offset = bytes.pick<std::int64_t>({1, 3, 16, -1, INT64_MAX});
    if (bytes.one_in(4) && t.is_small()) {
      const auto needed = t.is_empty() ? 0 : static_cast<std::int64_t>(t.highest()) + t.offset + 1;
      t.storage = {bytes.one_in(8) ? needed - 1 : needed};
    }
    t.null = bytes.one_in(argument.required ? 80 : 4);
    call.t.push_back(std::move(t));
  }
  call.mask_is_null = bytes.one_in(40);
  if (bytes.one_in(40)) call.wanted.resize(bytes.below(5));
  if (call.wanted.size() != 3 && !(call.api == Api::kBackward || call.api == Api::kFastBackward)) {
    call.wanted.resize(3);
  }
  return call;
}

int first_phase(const Call& call, const std::vector<aclTensor*>& t, const aclBoolArray* mask,
                std::uint64_t* size, aclOpExecutor** made) {
  const auto& w = call.wanted;
  switch (call.api) {
    case Api::kBatchNorm:
      return aclnnBatchNormGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], call.training, 0.1, 1e-5,
                                            t[5], t[6], t[7], size, made);
    case Api::kBackward:
      return aclnnBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                    call.training, 1e-5, mask, t[7], t[8], t[9],
                                                    size, made);
    case Api::kFastBackward:
      return aclnnFastBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                        call.training, 1e-5, mask, 0, t[7], t[8],
                                                        t[9], size, made);
    case Api::kReduce:
      return aclnnBatchNormReduceBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], w[0], w[1],
                                                          w[2], t[5], t[6], t[7], t[8], size, made);
    case Api::kElemtBackward:
      return aclnnBatchNormElemtBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                         t[7], t[8], size, made);
    case Api::kStats:
      return aclnnBatchNormStatsGetWorkspaceSize(t[0], 1e-5, t[1], t[2], size, made);
    case Api::kGather:
      return aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
          t[0], t[1], t[2], t[3], t[4], 0.1, 1e-5, t[5], t[6], t[7], size, made);
    default:
      return aclnnBatchNormElemtGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], 1e-5, t[5], size,
                                                 made);
  }
}

int second_phase(const Call& call, void* workspace, std::uint64_t size, aclOpExecutor* made) {
  switch (call.api) {
    case Api::kBatchNorm:
      return aclnnBatchNorm(workspace, size, made, nullptr);
    case Api::kBackward:
      return aclnnBatchNormBackward(workspace, size, made, nullptr);
    case Api::kFastBackward:
      return aclnnFastBatchNormBackward(workspace, size, made, nullptr);
    case Api::kReduce:
      return aclnnBatchNormReduceBackward(workspace, size, made, nullptr);
    case Api::kElemtBackward:
      return aclnnBatchNormElemtBackward(workspace, size, made, nullptr);
    case Api::kStats:
      return aclnnBatchNormStats(workspace, size, made, nullptr);
    case Api::kGather:
      return aclnnBatchNormGatherStatsWithCounts(workspace, size, made, nullptr);
    default:
      return aclnnBatchNormElemt(workspace, size, made, nullptr);
  }
}

std::string text(const Call& call) {
  std::ostringstream out;
  out << "operator " << static_cast<int>(call.api);
  for (const Draft& t : call.t) {
    out << "\n  ";
    if (t.null) {
      out << "null";
      continue;
    }
    out << "type " << t.dtype << " format " << t.format << " offset " << t.offset
        << " shape/strides";
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      out << " " << t.shape[d] << "/" << t.strides[d];
  }
  return out.str();
}

}  // namespace

void describe_aclnn(Bytes& bytes) {
  static Guarded memory[10];
  static const bool ready = aclrtSetDevice(0) == ACL_SUCCESS;
  expect(ready, "aclrtSetDevice");
  const Call call = make_call(bytes);
  std::vector<aclTensor*> tensors;
  bool fits = true;  // into memory that we can give
  for (std::size_t i = 0; i < call.t.size(); ++i) {
    const Draft& t = call.t[i];
    const std::size_t bytes_each = is_listed(t.dtype) && t.dtype != ACL_FLOAT ? 2 : 4;
    const bool placed = t.is_small() && t.lowest() >= 0;
    if (call.is_given(i)) fits = fits && placed;
    void* const address = placed ? memory[i].place(t, bytes_each, !bytes.one_in(4)) : memory + i;
    tensors.push_back(t.null ? nullptr
                             : aclCreateTensor(t.shape.data(), t.shape.size(),
                                               static_cast<aclDataType>(t.dtype), t.strides.data(),
                                               t.offset, static_cast<aclFormat>(t.format),
                                               t.storage.data(), t.storage.size(), address));
    expect(t.null || tensors.back() != nullptr, "aclCreateTensor");
  }
  bool wanted[8] = {};
  std::copy(call.wanted.begin(), call.wanted.end(), wanted);
  aclBoolArray* const mask =
      call.mask_is_null ? nullptr : aclCreateBoolArray(wanted, call.wanted.size());
  std::uint64_t size = 77;
  aclOpExecutor* made = nullptr;
  const int code = first_phase(call, tensors, mask, &size, &made);
  for (aclTensor* t : tensors) expect(aclDestroyTensor(t) == 0, "aclDestroyTensor");
  expect(aclDestroyBoolArray(mask) == 0, "aclDestroyBoolArray");
  const char* sentence = code == 0 ? "" : aclGetRecentErrMsg();
  expect(sentence != nullptr, "a refusal without a sentence");
  const std::optional<int> expected = expected_code(call);
  expect(!expected.has_value() || code == *expected,
         "phase 1 returned " + std::to_string(code) + ", the validator says " +
             std::to_string(expected.value_or(0)) + "\n" + sentence + "\n" + text(call));
  if (code != 0) {
    expect(code == 161001 || code == 161002, "phase 1 returned " + std::to_string(code));
    expect(size == 77 && made == nullptr, "phase 1 wrote on refusal");
    return;
  }
  if (!fits) {
    expect(aclDestroyAclOpExecutor(made) == 0, "aclDestroyAclOpExecutor");
    return;
  }
  std::vector<std::uint8_t> workspace(size);
  const int done = second_phase(call, workspace.data(), size, made);
  expect(done == 0, "an accepted call failed: " + std::to_string(done) + "\n" + text(call));
}

}  // namespace fuzz
