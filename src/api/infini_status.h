// Our status as InfiniCore's codes.
#ifndef NORMGRAD_API_INFINI_STATUS_H
#define NORMGRAD_API_INFINI_STATUS_H

#include "infinicore.h"
#include "normgrad/status.h"

namespace normgrad::api {

inline infiniStatus_t to_infini(Status status) {
  switch (status) {
    case Status::kOk:
      return INFINI_STATUS_SUCCESS;
    case Status::kNullPointer:
      return INFINI_STATUS_NULL_POINTER;
    case Status::kBadParam:
      return INFINI_STATUS_BAD_PARAM;
    case Status::kBadDtype:
      return INFINI_STATUS_BAD_TENSOR_DTYPE;
    case Status::kBadShape:
      return INFINI_STATUS_BAD_TENSOR_SHAPE;
    case Status::kBadStrides:
      return INFINI_STATUS_BAD_TENSOR_STRIDES;
    case Status::kSmallWorkspace:
      return INFINI_STATUS_INSUFFICIENT_WORKSPACE;
    case Status::kDeviceUnsupported:
      return INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
    case Status::kDeviceNotFound:
      return INFINI_STATUS_DEVICE_NOT_FOUND;
    case Status::kOutOfMemory:  // InfiniCore has no code for it
    case Status::kInternal:
    case Status::kExchangeFailed:  // nor for this; no entry point exchanges anything
      break;
  }
  return INFINI_STATUS_INTERNAL_ERROR;
}

}  // namespace normgrad::api

#endif
