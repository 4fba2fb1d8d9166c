// Where aclnnBatchNorm and its gradients find the channels; all other operators take axis 1.
#ifndef NORMGRAD_API_ACLNN_CHANNEL_AXIS_H
#define NORMGRAD_API_ACLNN_CHANNEL_AXIS_H

#include "api/aclnn/operator.h"

namespace normgrad::api {

// The rank of `data` is at least 2.
inline int channel_axis(const Operand& data) {
  const bool channels_last =
      is_950() && (data->format == ACL_FORMAT_NHWC || data->format == ACL_FORMAT_NDHWC);
  return channels_last ? static_cast<int>(data->shape.size()) - 1 : 1;
}

// Five dimensions need a format that says which of them are the channels: NCDHW, or, where it is
// supported, NDHWC.
inline int check_format_of_rank_5(Operands operands) {
  for (const Operand& operand : operands) {
    if (!operand || operand->shape.size() != 5 || operand->format == ACL_FORMAT_NCDHW) continue;
    if (is_950() && operand->format == ACL_FORMAT_NDHWC) continue;
    return refuse(kAclnnInvalid, "%s has rank 5 and format %s (%d), but must have NCDHW%s",
                  operand.name, name_of(operand->format), static_cast<int>(operand->format),
                  is_950() ? " or NDHWC" : "");
  }
  return 0;
}

}  // namespace normgrad::api

#endif
