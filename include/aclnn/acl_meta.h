/* Tensors, scalars and arrays as the aclnn operators take them, and what can be done with an
 * executor between an operator's two phases.
 *
 * Every handle is known to the library: one that was destroyed, is of another type or was never
 * created here is answered with a code (tensors, scalars, arrays, lists 161002, executors 561000)
 * and never touched. A failed call changes nothing; aclGetRecentErrMsg says why it failed. */
#ifndef NORMGRAD_ACLNN_ACL_META_H
#define NORMGRAD_ACLNN_ACL_META_H

#include <cstdint>
#include <cstdlib>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ACLNN_META
#define ACLNN_META
typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;

typedef int32_t aclnnStatus;
constexpr aclnnStatus OK = 0;
#endif

/* A view of memory: element (i, j, ...) lies at
 *   tensorData + (offset + i*stride[0] + j*stride[1] + ...) * size of an element.
 * All that is pointed to is copied, tensorData excepted: it stays the caller's.
 *
 * viewDims:    viewDimsNum extents; may be null if viewDimsNum is 0 (a tensor of one element). At
 *              most 64 dimensions; operators take 8.
 * dataType:    any; operators say which ones they take.
 * stride:      viewDimsNum strides, in elements; null: those of a contiguous tensor. An input's may
 *              be 0 (the same element again and again).
 * offset:      of the first element, in elements.
 * format:      any; operators say which ones they take.
 * storageDims: storageDimsNum extents of what was allocated, in whatever shape; may be null if
 *              storageDimsNum is 0: then the view is taken on trust. An operator refuses a view
 *              that leaves its storage.
 * tensorData:  may be null, and set later.
 *
 * Null if viewDims or storageDims is null against the rules above, or memory ran out. Negative
 * extents, strides and offsets are refused by the operators. */
ACL_FUNC_VISIBILITY aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum,
                                               aclDataType dataType, const int64_t* stride,
                                               int64_t offset, aclFormat format,
                                               const int64_t* storageDims, uint64_t storageDimsNum,
                                               void* tensorData);

/* value: one value of dataType, which is copied. Null result if it is null, or if dataType has no
 * fixed size (ACL_STRING, ACL_DT_UNDEFINED). */
ACL_FUNC_VISIBILITY aclScalar* aclCreateScalar(void* value, aclDataType dataType);

/* value: size values, which are copied; may be null if size is 0. */
ACL_FUNC_VISIBILITY aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);
ACL_FUNC_VISIBILITY aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size);
ACL_FUNC_VISIBILITY aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size);

/* value: size live tensors (scalars) or nulls; may be null if size is 0. From now on they belong to
 * the list: they are destroyed with it. */
ACL_FUNC_VISIBILITY aclTensorList* aclCreateTensorList(const aclTensor* const* value,
                                                       uint64_t size);
ACL_FUNC_VISIBILITY aclScalarList* aclCreateScalarList(const aclScalar* const* value,
                                                       uint64_t size);

/* Null is fine and does nothing. The memory that a tensor shows is left alone. Executors keep
 * copies, so what went into phase 1 may be destroyed after it. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor* tensor);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar* scalar);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyIntArray(const aclIntArray* array);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensorList(const aclTensorList* array);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalarList(const aclScalarList* array);

/* A tensor's extents, storage extents or strides: *...Num of them in an array that was made with
 * new int64_t[] and that the caller frees with delete[]. Any null: 161001. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims,
                                                uint64_t* viewDimsNum);
ACL_FUNC_VISIBILITY aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                                                   uint64_t* storageDimsNum);
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                                                  uint64_t* stridesNum);

/* Any null: 161001. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);
ACL_FUNC_VISIBILITY aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);
ACL_FUNC_VISIBILITY aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);
ACL_FUNC_VISIBILITY aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);
ACL_FUNC_VISIBILITY aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size);
ACL_FUNC_VISIBILITY aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size);
ACL_FUNC_VISIBILITY aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList,
                                                     uint64_t* size);
ACL_FUNC_VISIBILITY aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList,
                                                     uint64_t* size);

/* A new description for an old tensor (null: 161001), arguments as above. Null viewDims keeps
 * extents and strides (a stride that is not null still replaces the strides; viewDimsNum must be the
 * number of extents then, else 161002), null storageDims the storage, null addr the address. */
ACL_FUNC_VISIBILITY aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims,
                                              uint64_t viewDimsNum, aclDataType dataType,
                                              const int64_t* stride, int64_t offset,
                                              aclFormat format, const int64_t* storageDims,
                                              uint64_t storageDimsNum, void* addr);

/* tensorData of a tensor, before its offset. A null tensor, and a null addr of Get: 161001. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr);

/* Lets phase 2 run this executor any number of times, also from several threads; then it lives
 * until it is destroyed. Otherwise phase 2 destroys it, whatever it answers. Null: 561103. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);

/* For a repeatable executor, or one whose phase 2 is never called; not while another thread is in its
 * phase 2. Null: 561103. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);

/* Another tensorData for one of the tensors of phase 1; offset and layout stay as they were then.
 * Not while phase 2 runs in another thread.
 *
 * index:  among the tensor arguments of phase 1, in their order, from 0: of its inputs, of its
 *         outputs, or of its inputs followed by its outputs. Tensors that are updated in place
 *         (running statistics) count as inputs. Too large, or a tensor that was null: 161002.
 * tensor: gets the address too. A null tensor or executor: 561103.
 * addr:   not null by the time phase 2 runs. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);

/* The same for an argument that is a list. No operator of this library has one, so the answer is
 * 561103 for a null executor or list, 561000 for a dead executor, and otherwise 161002. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor,
                                                             size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor,
                                                              size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex,
                                                        aclTensorList* tensors, void* addr);

/* The same six under the names that some callers use. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor,
                                                             size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor,
                                                              size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex,
                                                        aclTensorList* tensors, void* addr);

#ifdef __cplusplus
}
#endif

#endif
