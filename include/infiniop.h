/* InfiniOp: all of it that this library has. For devices and memory include infinirt.h as well. */
#ifndef __INFINIOP_API_H__
#define __INFINIOP_API_H__

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/ops/add_rms_norm.h"
#include "infiniop/ops/batch_norm.h"
#include "infiniop/ops/batch_norm_backward.h"
#include "infiniop/ops/layer_norm.h"
#include "infiniop/ops/layer_norm_backward.h"
#include "infiniop/ops/rms_norm.h"
#include "infiniop/ops/rms_norm_backward.h"
#include "infiniop/tensor_descriptor.h"

#endif
