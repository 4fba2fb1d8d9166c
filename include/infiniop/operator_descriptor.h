/* What all operator descriptors share. An operator Op has four functions:
 *
 *   infiniopCreate<Op>Descriptor   checks everything but addresses; its tensor descriptors may be
 *                                  destroyed right after
 *   infiniopGet<Op>WorkspaceSize   bytes of scratch memory that a computation needs, maybe 0
 *   infiniop<Op>                   computes; any number of times, with any addresses, in any number
 *                                  of threads at once if they share neither workspace nor outputs
 *   infiniopDestroy<Op>Descriptor  must not run while one of the others uses the descriptor
 *
 * A null pointer in one of them: BAD_PARAM, as is a handle or descriptor that is not alive or
 * belongs to another operator. Codes are written without their prefix INFINI_STATUS_. */
#ifndef __INFINIOP_OPERATOR_DESCRIPTOR_API_H__
#define __INFINIOP_OPERATOR_DESCRIPTOR_API_H__

#include "handle.h"
#include "tensor_descriptor.h"

/* Base of every operator descriptor. */
struct InfiniopDescriptor;

/* The interface documents' name of the Destroy functions' return type. */
typedef infiniStatus_t infiniopStatus_t;

/* desc_ptr: a live operator descriptor. device_type, device_id: out, the device it computes on. */
__INFINI_C __export infiniStatus_t infiniopGetDescriptorDeviceType(
    const struct InfiniopDescriptor* desc_ptr, infiniDevice_t* device_type);
__INFINI_C __export infiniStatus_t
infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor* desc_ptr, int* device_id);

#endif
