#include "api/aclnn/checks.h"

#include "api/aclnn/handles.h"
#include "runtime/layout.h"
#include "runtime/sizes.h"

namespace normgrad::api {
namespace {

bool is_listed(aclDataType dtype) {
  return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

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

// Text for the first 8: more are never needed to see what is wrong.
ShapeText text_of(const Dims& dims) {
  return normgrad::text_of(static_cast<int>(std::min<std::uint64_t>(dims.size(), kMaxRank)),
                           dims.begin());
}

int refuse_negative(const Operand& operand, const char* what, std::int64_t value) {
  return refuse(kAclnnInvalid, "%s has %s %lld, but it must not be negative", operand.name, what,
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
                  operand.name, text_of(tensor.shape).text, text_of(tensor.strides).text,
                  static_cast<long long>(tensor.offset));
  }
  if (tensor.storage.size() == 0) return 0;
  const Checked storage = product(tensor.storage);
  if (!storage.ok() || end.value() <= storage.value()) return 0;
  return refuse(kAclnnInvalid,
                "%s with shape %s, strides %s and offset %lld needs %lld elements of storage, but "
                "its storageDims %s have %lld",
                operand.name, text_of(tensor.shape).text, text_of(tensor.strides).text,
                static_cast<long long>(tensor.offset), static_cast<long long>(end.value()),
                text_of(tensor.storage).text, static_cast<long long>(storage.value()));
}

int check_view(const Operand& operand) {
  const aclTensor& tensor = *operand.tensor;
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "an extent of", tensor.shape));
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "a stride of", tensor.strides));
  NORMGRAD_ACLNN_TRY(check_not_negative(operand, "a storage extent of", tensor.storage));
  if (tensor.offset < 0) return refuse_negative(operand, "an offset of", tensor.offset);
  return tensor.is_empty() ? 0 : check_storage(operand);
}

bool same(const Dims& a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

int refuse_dtype(const Operand& operand, const char* allowed) {
  return refuse(kAclnnInvalid, "%s is %s (%d), but must be %s", operand.name,
                name_of(operand->dtype), static_cast<int>(operand->dtype), allowed);
}

}  // namespace

int check_not_null(Operands operands) {
  for (const Operand& operand : operands) {
    if (operand.required && !operand) return refuse_null_pointer(operand.name);
  }
  return 0;
}

int check_alive(Operands operands) {
  for (const Operand& operand : operands) {
    if (operand) NORMGRAD_ACLNN_TRY(check_handle(operand.name, operand.tensor));
  }
  return 0;
}

int check_listed_dtype(Operands operands) {
  for (const Operand& operand : operands) {
    if (!operand || is_listed(operand->dtype)) continue;
    return refuse_dtype(operand, "FLOAT, FLOAT16 or BF16");
  }
  return 0;
}

int check_same_dtype(const Operand& a, const Operand& b) {
  if (!a || !b || a->dtype == b->dtype) return 0;
  return refuse(kAclnnInvalid, "%s is %s, but must be %s like %s", a.name, name_of(a->dtype),
                name_of(b->dtype), b.name);
}

int check_float_or_dtype_of(const Operand& data, Operands operands) {
  if (!data) return 0;
  for (const Operand& operand : operands) {
    if (!operand || operand->dtype == ACL_FLOAT || operand->dtype == data->dtype) continue;
    return refuse(kAclnnInvalid, "%s is %s, but must be FLOAT or, like %s, %s", operand.name,
                  name_of(operand->dtype), data.name, name_of(data->dtype));
  }
  return 0;
}

int check_public_format(Operands operands) {
  for (const Operand& operand : operands) {
    if (!operand || !is_private(operand->format)) continue;
    return refuse(
        kAclnnInvalid,
        "%s has the private format %s (%d), but must have a public one such as ND or NCHW",
        operand.name, name_of(operand->format), static_cast<int>(operand->format));
  }
  return 0;
}

int check_same_format(const Operand& a, const Operand& b) {
  if (!a || !b || a->format == b->format) return 0;
  return refuse(kAclnnInvalid, "%s has format %s (%d), but must have %s (%d) like %s", a.name,
                name_of(a->format), static_cast<int>(a->format), name_of(b->format),
                static_cast<int>(b->format), b.name);
}

int check_rank(Operands operands, int min, int max) {
  for (const Operand& operand : operands) {
    if (!operand) continue;
    const std::uint64_t rank = operand->shape.size();
    if (rank >= static_cast<std::uint64_t>(min) && rank <= static_cast<std::uint64_t>(max))
      continue;
    return refuse(kAclnnInvalid, "%s has rank %llu, but must have rank %d to %d", operand.name,
                  static_cast<unsigned long long>(rank), min, max);
  }
  return 0;
}

int check_views(Operands operands) {
  for (const Operand& operand : operands) {
    if (operand) NORMGRAD_ACLNN_TRY(check_view(operand));
  }
  return 0;
}

int check_same_shape(const Operand& a, const Operand& b) {
  if (!a || !b || same(a->shape, {b->shape.begin(), b->shape.end()})) return 0;
  return refuse(kAclnnInvalid, "%s has shape %s, but must have the shape of %s, %s", a.name,
                text_of(a->shape).text, b.name, text_of(b->shape).text);
}

int check_shape(Operands operands, std::span<const std::int64_t> shape) {
  for (const Operand& operand : operands) {
    if (!operand || same(operand->shape, shape)) continue;
    return refuse(kAclnnInvalid, "%s has shape %s, but must have shape %s", operand.name,
                  text_of(operand->shape).text,
                  normgrad::text_of(static_cast<int>(shape.size()), shape.data()).text);
  }
  return 0;
}

int check_has_channels(const Operand& data, int channel_axis) {
  if (data.extent(channel_axis) != 0) return 0;
  return refuse(kAclnnInvalid, "%s has shape %s, but its axis %d, the channels, must not be 0",
                data.name, text_of(data->shape).text, channel_axis);
}

int check_channels(Operands operands, const Operand& data, int channel_axis) {
  const std::int64_t channels = data.extent(channel_axis);
  for (const Operand& operand : operands) {
    if (!operand || same(operand->shape, {&channels, 1})) continue;
    return refuse(kAclnnInvalid,
                  "%s has shape %s, but must have shape (%lld): the channels of %s, its axis %d",
                  operand.name, text_of(operand->shape).text, static_cast<long long>(channels),
                  data.name, channel_axis);
  }
  return 0;
}

bool any_empty(Operands operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand && operand->is_empty(); });
}

}  // namespace normgrad::api
