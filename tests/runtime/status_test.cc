// Statuses as the codes of both APIs, and exceptions, none of which leaves an entry point.
#include <gtest/gtest.h>

#include <new>
#include <string>

#include "api/acl_status.h"
#include "api/infini_status.h"
#include "normgrad/last_error.h"

namespace normgrad::api {
namespace {

TEST(Status, HasACodeOfEachApi) {
  const struct {
    Status status;
    int aclnn;
    infiniStatus_t infini;
  } rows[] = {{Status::kOk, 0, INFINI_STATUS_SUCCESS},
              {Status::kNullPointer, 161001, INFINI_STATUS_NULL_POINTER},
              {Status::kBadParam, 161002, INFINI_STATUS_BAD_PARAM},
              {Status::kBadDtype, 161002, INFINI_STATUS_BAD_TENSOR_DTYPE},
              {Status::kBadShape, 161002, INFINI_STATUS_BAD_TENSOR_SHAPE},
              {Status::kBadStrides, 161002, INFINI_STATUS_BAD_TENSOR_STRIDES},
              {Status::kSmallWorkspace, 161002, INFINI_STATUS_INSUFFICIENT_WORKSPACE},
              {Status::kDeviceUnsupported, 361001, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED},
              {Status::kDeviceNotFound, 361001, INFINI_STATUS_DEVICE_NOT_FOUND},
              {Status::kOutOfMemory, 361001, INFINI_STATUS_INTERNAL_ERROR},
              {Status::kInternal, 561000, INFINI_STATUS_INTERNAL_ERROR},
              {Status::kExchangeFailed, 361001, INFINI_STATUS_INTERNAL_ERROR}};
  for (const auto& row : rows) {
    EXPECT_EQ(to_aclnn(row.status), row.aclnn) << static_cast<int>(row.status);
    EXPECT_EQ(to_infini(row.status), row.infini) << static_cast<int>(row.status);
  }
}

TEST(Exception, BecomesACodeAndASentence) {
  const auto no_memory = []() -> int { throw std::bad_alloc(); };
  const auto defect = []() -> int { throw 1; };
  EXPECT_EQ(acl_entry("someFunction", no_memory), 207001);
  EXPECT_STREQ(normgradGetLastError(), "someFunction: out of memory");
  EXPECT_EQ(acl_entry("someFunction", defect), 507000);
  EXPECT_EQ(aclnn_entry("someFunction", no_memory), 361001);
  EXPECT_EQ(aclnn_entry("someFunction", defect), 561000);
  EXPECT_STREQ(normgradGetLastError(),
               "someFunction: unexpected exception: please report this as a defect of normgrad");
  EXPECT_EQ(guarded("someFunction", []() -> Status { throw 1; }), Status::kInternal);
}

}  // namespace
}  // namespace normgrad::api
