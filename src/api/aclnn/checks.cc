#include "api/aclnn/checks.h"

#include "api/aclnn/handles.h"
#include "runtime/environment.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

namespace normgrad::api {
namespace {

// ---- data types ----

int refuse_type(const Operand& operand, const char* allowed) {
  return refuse(kAclnnInvalid, "%s is %s (%d), but must be %s", operand.name(),
                name_of(operand->dtype), static_cast<int>(operand->dtype), allowed);
}

int check_listed_type(const Operand& operand) {
  const aclDataType dtype = operand->dtype;
  if (operand.row->is_float) return dtype == ACL_FLOAT ? 0 : refuse_type(operand, "FLOAT");
  if (dtype == ACL_FLOAT || dtype == ACL_FLOAT16) return 0;
  if (dtype == (operand.row->is_counter ? ACL_INT32 : ACL_BF16)) return 0;
  return refuse_type(
      operand, operand.row->is_counter ? "FLOAT, FLOAT16 or INT32" : "FLOAT, FLOAT16 or BF16");
}

int check_type_like(const Operand& operand, const Operand& other) {
  if (!other || operand->dtype == other->dtype) return 0;
  return refuse(kAclnnInvalid, "%s is %s, but must be %s like %s", operand.name(),
                name_of(operand->dtype), name_of(other->dtype), other.name());
}

int check_float_or_like(const Operand& operand, const Operand& other) {
  if (!other || operand->dtype == ACL_FLOAT || operand->dtype == other->dtype) return 0;
  return refuse(kAclnnInvalid, "%s is %s, but must be FLOAT or, like %s, %s", operand.name(),
                name_of(operand->dtype), other.name(), name_of(other->dtype));
}

// ---- formats ----

// Those in which CANN's own kernels keep data are not for callers.
bool is_private(aclFormat format) {
  switch (static_cast<int>(format)) {
    case 3:   // NC1HWC0
    case 4:   // FRACTAL_Z
    case 12:  // NC1HWC0_C04
    case 29:  // FRACTAL_NZ
    case 32:  // NDC1HWC0
    case 33:  // FRACTAL_Z_3D
      return true;
    default:
      return format >= 50 && format <= 54;  // FRACTAL_NZ_C0_...
  }
}

int check_format_like(const Operand& operand, const Operand& other) {
  if (!other || operand->format == other->format) return 0;
  return refuse(kAclnnInvalid, "%s has format %s (%d), but must have %s (%d) like %s",
                operand.name(), name_of(operand->format), static_cast<int>(operand->format),
                name_of(other->format), static_cast<int>(other->format), other.name());
}

// NCDHW, or, where it is supported, NDHWC.
int check_format_of_rank_5(const Arguments& arguments, const Operand& operand) {
  const RankFive rule = arguments.spec().rank_five;
  const bool any = rule == RankFive::kAnyFormat || (rule == RankFive::kOwnFormatOn950 && !is_950());
  if (any || operand->shape.size() != 5 || operand->format == ACL_FORMAT_NCDHW) return 0;
  if (is_950() && operand->format == ACL_FORMAT_NDHWC) return 0;
  return refuse(kAclnnInvalid, "%s has rank 5 and format %s (%d), but must have NCDHW%s",
                operand.name(), name_of(operand->format), static_cast<int>(operand->format),
                is_950() ? " or NDHWC" : "");
}

int check_public_format(const Operand& operand) {
  if (!is_private(operand->format)) return 0;
  return refuse(kAclnnInvalid,
                "%s has the private format %s (%d), but must have a public one such as ND or NCHW",
                operand.name(), name_of(operand->format), static_cast<int>(operand->format));
}

// ---- views: a tensor whose extents, strides or storage are impossible is nobody's to compute with ----

// Text for the first 8: more are never needed to see what is wrong.
ShapeText text_of(const Dims& dims) {
  return normgrad::text_of(static_cast<int>(std::min<std::uint64_t>(dims.size(), kMaxRank)),
                           dims.begin());
}

int check_rank(const Operand& operand, int least_of_data) {
  const int least = operand.row->form == Form::kData ? least_of_data : 0;
  const std::uint64_t rank = operand->shape.size();
  if (rank >= static_cast<std::uint64_t>(least) && rank <= kMaxRank) return 0;
  return refuse(kAclnnInvalid, "%s has rank %llu, but must have rank %d to %d", operand.name(),
                static_cast<unsigned long long>(rank), least, kMaxRank);
}

int refuse_negative(const Operand& operand, const char* what, std::int64_t value) {
  return refuse(kAclnnInvalid, "%s has %s %lld, but it must not be negative", operand.name(), what,
                static_cast<long long>(value));
}
int check_not_negative(const Operand& operand, const char* what, const Dims& dims) {
  for (const std::int64_t value : dims) {
    if (value < 0) return refuse_negative(operand, what, value);
  }
  return 0;
}

// Elements from tensorData up to the last one of the view; extents and strides are not negative.
Checked elements_to_end(const aclTensor& tensor) {
  Checked last = tensor.offset;
  for (std::uint64_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > 1) last = last + Checked(tensor.shape[d] - 1) * tensor.strides[d];
  }
  return last + 1;
}

Checked product(const Dims& dims) {
  Checked elements = 1;
  for (const std::int64_t extent : dims) {
    if (extent == 0) return 0;
    elements = elements * extent;
  }
  return elements;
}

int check_storage(const Operand& operand) {
  const aclTensor& tensor = *operand.tensor;
  const Checked end = elements_to_end(tensor);
  // 8: the largest element that an operator takes. A stride of 0 makes many elements of little.
  if (!(end * 8).ok() || !(product(tensor.shape) * 8).ok()) {
    return refuse(kAclnnInvalid,
                  "%s with shape %s, strides %s and offset %lld is larger than memory can be",
                  operand.name(), text_of(tensor.shape).text, text_of(tensor.strides).text,
                  static_cast<long long>(tensor.offset));
  }
  if (tensor.storage.size() == 0) return 0;
  const Checked storage = product(tensor.storage);
  if (!storage.ok() || end.value() <= storage.value()) return 0;
  return refuse(kAclnnInvalid,
                "%s with shape %s, strides %s and offset %lld needs %lld elements of storage, but "
                "its storageDims %s have %lld",
                operand.name(), text_of(tensor.shape).text, text_of(tensor.strides).text,
                static_cast<long long>(tensor.offset), static_cast<long long>(end.value()),
                text_of(tensor.storage).text, static_cast<long long>(storage.value()));
}

}  // namespace

bool is_950() { return environment().soc == Soc::kAscend950; }

Arguments::Arguments(const Spec& spec, std::span<const aclTensor* const> tensors) : spec_(&spec) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Row& row = spec.rows[i];
    operands_[i] = {&row, tensors[i], row.arg, row.use != Use::kOptional, tensors[i] != nullptr};
  }
}

int Arguments::channel_axis() const {
  const bool last = spec_->channels_by_format && is_950() &&
                    (data()->format == ACL_FORMAT_NHWC || data()->format == ACL_FORMAT_NDHWC);
  return last ? static_cast<int>(data()->shape.size()) - 1 : 1;
}

int check_not_null(const Arguments& arguments) {
  for (const Operand& operand : arguments) {
    if (operand.required && !operand) return refuse_null_pointer(operand.name());
  }
  return 0;
}

int check_alive(const Operand& operand) {
  return operand ? check_handle(operand.name(), operand.tensor) : 0;
}
int check_alive(const Arguments& arguments) {
  for (const Operand& operand : arguments) NORMGRAD_ACLNN_TRY(check_alive(operand));
  return 0;
}

int check_types(const Arguments& arguments, Mixtures mixtures) {
  for (const Operand& operand : arguments) {
    if (operand) NORMGRAD_ACLNN_TRY(check_listed_type(operand));
  }
  if (mixtures == Mixtures::kAny) return 0;
  for (const Operand& operand : arguments) {
    if (!operand) continue;
    const Likeness& like = operand.row->like;
    if (like.float_or != kNobody) {
      NORMGRAD_ACLNN_TRY(check_float_or_like(operand, arguments[like.float_or]));
    }
    if (like.type != kNobody) NORMGRAD_ACLNN_TRY(check_type_like(operand, arguments[like.type]));
  }
  return 0;
}

int check_formats(const Arguments& arguments) {
  for (const Operand& operand : arguments) {
    const int like = operand.row->like.format;
    if (operand && like != kNobody) NORMGRAD_ACLNN_TRY(check_format_like(operand, arguments[like]));
  }
  NORMGRAD_ACLNN_TRY(check_format_of_rank_5(arguments, arguments.data()));
  for (const Operand& operand : arguments) {
    const bool is_data = operand && operand.row->form == Form::kData;
    if (is_data) NORMGRAD_ACLNN_TRY(check_format_of_rank_5(arguments, operand));
  }
  for (const Operand& operand : arguments) {
    if (operand) NORMGRAD_ACLNN_TRY(check_public_format(operand));
  }
  return 0;
}

int check_view(const Operand& operand, int least_rank) {
  if (!operand) return 0;
  NORMGRAD_ACLNN_TRY(check_rank(operand, least_rank));
  const aclTensor& tensor = *operand.tensor;
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "an extent of", tensor.shape));
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "a stride of", tensor.strides));
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "a storage extent of", tensor.storage));
  if (tensor.offset < 0) return refuse_negative(operand, "an offset of", tensor.offset);
  return tensor.is_empty() ? 0 : check_storage(operand);
}

int check_views(const Arguments& arguments) {
  const int least = arguments.spec().least_rank;
  NORMGRAD_ACLNN_TRY(check_rank(arguments.data(), least));
  for (const Operand& operand : arguments) {
    if (operand) NORMGRAD_ACLNN_TRY(check_rank(operand, least));
  }
  for (const Operand& operand : arguments) NORMGRAD_ACLNN_TRY(check_view(operand, least));
  if (!arguments.spec().needs_channels || arguments.channels() != 0) return 0;
  return refuse(kAclnnInvalid, "%s has shape %s, but its axis %d, the channels, must not be 0",
                arguments.data().name(), text_of(arguments.data()->shape).text,
                arguments.channel_axis());
}

bool any_empty(const Arguments& arguments, std::initializer_list<int> which) {
  return std::any_of(which.begin(), which.end(),
                     [&](int i) { return arguments[i] && arguments[i]->is_empty(); });
}

}  // namespace normgrad::api
