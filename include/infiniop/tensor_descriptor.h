/* A tensor descriptor: data type, extents and strides of a tensor; no address. */
#ifndef __INFINIOP_TENSOR_DESCRIPTOR_API_H__
#define __INFINIOP_TENSOR_DESCRIPTOR_API_H__

#include "../infinicore.h"

struct InfiniopTensorDescriptor;
typedef struct InfiniopTensorDescriptor* infiniopTensorDescriptor_t;

/* desc_ptr: out, the new descriptor. Null: NULL_POINTER.
 * ndim:     number of dimensions, 0 (a scalar) to 64; more: BAD_PARAM.
 * shape:    ndim extents, copied. Null with ndim > 0: NULL_POINTER.
 * strides:  ndim strides in elements, copied; 0 and negative ones are fine. Null: row-major
 *           contiguous; BAD_TENSOR_SHAPE if such strides would not fit in ptrdiff_t.
 * dtype:    any; what an operator takes it says itself. */
__INFINI_C __export infiniStatus_t
infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc_ptr, size_t ndim,
                               const size_t* shape, const ptrdiff_t* strides, infiniDtype_t dtype);

/* desc: null is fine and does nothing; one that is not alive: BAD_PARAM. Operators created with it
 * keep what they need: it may be destroyed right after. */
__INFINI_C __export infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);

#endif
