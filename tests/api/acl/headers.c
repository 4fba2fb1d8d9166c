/* The ACL headers in every language standard that they promise: types and values that programs rely
 * on. Also included by headers.cc. */
#include <acl/acl.h>
#include <acl/acl_base.h>
#include <acl/acl_base_mdl.h>
#include <acl/acl_base_rt.h>
#include <acl/acl_mdl.h>
#include <acl/acl_op.h>
#include <acl/acl_op_compiler.h>
#include <acl/acl_rt.h>
#include <acl/acl_rt_allocator.h>
#include <acl/acl_rt_types.h>
#include <acl/error_codes/ge_error_codes.h>
#include <acl/error_codes/rt_error_codes.h>

#if ACL_ERROR_RT_PARAM_INVALID != 107000 || ACL_RT_SUCCESS != 0
#error "runtime codes are macros"
#endif

/* Exact types: programs keep these functions in pointers. */
aclError (*const acl_free)(void*) = aclrtFree;
aclError (*const acl_malloc)(void**, size_t, aclrtMemMallocPolicy) = aclrtMalloc;
aclError (*const acl_copy)(void*, size_t, const void*, size_t, aclrtMemcpyKind) = aclrtMemcpy;
aclError (*const acl_create_stream)(aclrtStream*) = aclrtCreateStream;
const char* (*const acl_message)(void) = aclGetRecentErrMsg;

/* A negative size is an error in every standard. */
#define SAME(name, condition) typedef char name[(condition) ? 1 : -1]
SAME(error_is_int, sizeof(aclError) == sizeof(int));
SAME(half_is_16_bits, sizeof(aclFloat16) == 2);
SAME(bf16_is_27, ACL_BF16 == 27 && ACL_COMPLEX32 == 33 && ACL_FLOAT4_E1M2 == 41);
SAME(formats, ACL_FORMAT_ND == 2 && ACL_FORMAT_NCDHW == 30 && ACL_FRACTAL_Z_3D == 33 &&
                  ACL_FORMAT_NCL == 47 && ACL_FORMAT_FRACTAL_NZ_C0_8 == 54);
SAME(kinds, ACL_MEMCPY_DEVICE_TO_HOST == 2 && ACL_MEMCPY_INTER_DEVICE_TO_DEVICE == 7);
SAME(policies,
     ACL_MEM_MALLOC_HUGE1G_ONLY_P2P == 7 && ACL_MEM_ACCESS_USER_SPACE_READONLY == 0x100000);
SAME(statuses, ACL_EVENT_RECORDED_STATUS_COMPLETE == 1 && ACL_EVENT_STATUS_COMPLETE == 0 &&
                   ACL_STREAM_STATUS_RESERVED == 0xFFFF);
SAME(location, sizeof(aclrtPtrAttributes) == 28 && sizeof(aclrtMallocAttribute) == 12);

int acl_headers_test(void);
int acl_headers_test(void) {
  const int* constants[] = {&ACL_SUCCESS, &ACL_ERROR_NONE, &ACL_ERROR_REPEAT_FINALIZE,
                            &ACL_ERROR_PROFILING_FAILURE};
  ACL_APP_LOG(ACL_INFO, "a line");
  ACL_APP_LOG(ACL_WARNING, "%d of them", 2);
  return *constants[0] + *constants[1] + *constants[2] == 100037 && *constants[3] == 500005;
}
