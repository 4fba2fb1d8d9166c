// The numbers of the enums are ABI.
#include "infinicore.h"

#include "infinirt.h"

static_assert(INFINI_STATUS_SUCCESS == 0);
static_assert(INFINI_STATUS_INTERNAL_ERROR == 1);
static_assert(INFINI_STATUS_NOT_IMPLEMENTED == 2);
static_assert(INFINI_STATUS_BAD_PARAM == 3);
static_assert(INFINI_STATUS_NULL_POINTER == 4);
static_assert(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED == 5);
static_assert(INFINI_STATUS_DEVICE_NOT_FOUND == 6);
static_assert(INFINI_STATUS_DEVICE_NOT_INITIALIZED == 7);
static_assert(INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED == 8);
static_assert(INFINI_STATUS_BAD_TENSOR_DTYPE == 10);
static_assert(INFINI_STATUS_BAD_TENSOR_SHAPE == 11);
static_assert(INFINI_STATUS_BAD_TENSOR_STRIDES == 12);
static_assert(INFINI_STATUS_INSUFFICIENT_WORKSPACE == 13);

static_assert(INFINI_DEVICE_CPU == 0);
static_assert(INFINI_DEVICE_NVIDIA == 1);
static_assert(INFINI_DEVICE_CAMBRICON == 2);
static_assert(INFINI_DEVICE_ASCEND == 3);
static_assert(INFINI_DEVICE_METAX == 4);
static_assert(INFINI_DEVICE_MOORE == 5);
static_assert(INFINI_DEVICE_ILUVATAR == 6);
static_assert(INFINI_DEVICE_KUNLUN == 7);
static_assert(INFINI_DEVICE_HYGON == 8);
static_assert(INFINI_DEVICE_SUGON == 8);
static_assert(INFINI_DEVICE_QY == 9);
static_assert(INFINI_DEVICE_ALI == 10);
static_assert(INFINI_DEVICE_TYPE_COUNT == 11);

static_assert(INFINI_DTYPE_INVALID == 0);
static_assert(INFINI_DTYPE_BYTE == 1);
static_assert(INFINI_DTYPE_BOOL == 2);
static_assert(INFINI_DTYPE_I8 == 3);
static_assert(INFINI_DTYPE_I16 == 4);
static_assert(INFINI_DTYPE_I32 == 5);
static_assert(INFINI_DTYPE_I64 == 6);
static_assert(INFINI_DTYPE_U8 == 7);
static_assert(INFINI_DTYPE_U16 == 8);
static_assert(INFINI_DTYPE_U32 == 9);
static_assert(INFINI_DTYPE_U64 == 10);
static_assert(INFINI_DTYPE_F8 == 11);
static_assert(INFINI_DTYPE_F16 == 12);
static_assert(INFINI_DTYPE_F32 == 13);
static_assert(INFINI_DTYPE_F64 == 14);
static_assert(INFINI_DTYPE_C16 == 15);
static_assert(INFINI_DTYPE_C32 == 16);
static_assert(INFINI_DTYPE_C64 == 17);
static_assert(INFINI_DTYPE_C128 == 18);
static_assert(INFINI_DTYPE_BF16 == 19);

static_assert(sizeof(infiniStatus_t) == 4 && sizeof(infiniDevice_t) == 4 &&
              sizeof(infiniDtype_t) == 4);

static_assert(INFINIRT_MEMCPY_H2H == 0 && INFINIRT_MEMCPY_H2D == 1);
static_assert(INFINIRT_MEMCPY_D2H == 2 && INFINIRT_MEMCPY_D2D == 3);
static_assert(INFINIRT_EVENT_COMPLETE == 0 && INFINIRT_EVENT_NOT_READY == 1);
static_assert(INFINIRT_EVENT_DEFAULT == 0 && INFINIRT_EVENT_DISABLE_TIMING == 1);
static_assert(INFINIRT_EVENT_BLOCKING_SYNC == 2);
static_assert(INFINIRT_STREAM_CAPTURE_MODE_GLOBAL == 0);
static_assert(INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL == 1);
static_assert(INFINIRT_STREAM_CAPTURE_MODE_RELAXED == 2);
static_assert(INFINIRT_RESOURCE_FIELD_NONE == 0 && INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY == 1);
static_assert(INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION == 2);
static_assert(INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION == 4);
static_assert(INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO == 8);
static_assert(INFINIRT_RESOURCE_FIELD_COMMUNICATION == 16);

// The snapshot, field by field: clients allocate it.
using Snapshot = infinirtDeviceResourceSnapshot_t;
static_assert(offsetof(Snapshot, device_type) == 0 && offsetof(Snapshot, device_id) == 4);
static_assert(offsetof(Snapshot, valid_fields) == 8 && offsetof(Snapshot, estimated_fields) == 16);
static_assert(offsetof(Snapshot, free_bytes) == 24 && offsetof(Snapshot, total_bytes) == 32);
static_assert(offsetof(Snapshot, used_bytes) == 40 && offsetof(Snapshot, reserved_bytes) == 48);
static_assert(offsetof(Snapshot, compute_utilization) == 56);
static_assert(offsetof(Snapshot, memory_bandwidth_utilization) == 60);
static_assert(offsetof(Snapshot, kernel_time_ratio) == 64);
static_assert(offsetof(Snapshot, communication_time_ratio) == 68);
static_assert(offsetof(Snapshot, communication_bytes) == 72 && sizeof(Snapshot) == 80);
