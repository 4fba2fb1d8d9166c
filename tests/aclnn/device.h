// The runtime around the tests of one thread: a device, and its streams.
#ifndef TESTS_ACLNN_DEVICE_H
#define TESTS_ACLNN_DEVICE_H

#include <acl/acl.h>
#include <gtest/gtest.h>

namespace aclnn_test {

class Device {
 public:
  Device() { EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  ~Device() { EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS); }
  Device(const Device&) = delete;
};

class Stream {
 public:
  Stream() { EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS); }
  ~Stream() { EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS); }
  Stream(const Stream&) = delete;
  aclrtStream get() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

}  // namespace aclnn_test

#endif
