// Devices, contexts, options.
#include <thread>

#include "api/acl/world.h"

namespace acl_test {
namespace {

TEST(AclDevice, CountsHowOftenItIsSet) {
  std::uint32_t flags = 77;
  std::int32_t active = 77;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, &flags, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(flags, 0u);
  EXPECT_TRUE(refused(507007, aclrtResetDevice(0), "aclrtResetDevice", "deviceId"));
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 1);
  std::int32_t device = 77;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_TRUE(refused(507007, aclrtResetDevice(0), "aclrtResetDevice", "deviceId"));
  EXPECT_TRUE(refused(507007, aclrtResetDeviceForce(0), "aclrtResetDeviceForce", "deviceId"));
  EXPECT_TRUE(refused(107002, aclrtGetDevice(&device), "aclrtGetDevice", "context"));
}

TEST(AclDevice, AreAsManyAsTheEnvironmentSays) {
  std::uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(static_cast<int>(count), device_count());
  const auto last = static_cast<std::int32_t>(count) - 1;
  EXPECT_EQ(aclrtSetDevice(last), ACL_SUCCESS);
  std::int32_t device = 77;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, last);
  EXPECT_EQ(aclrtResetDevice(last), ACL_SUCCESS);
  EXPECT_TRUE(refused(107001, aclrtSetDevice(last + 1), "aclrtSetDevice", "deviceId"));
}

TEST_F(AclTest, OtherDevicesArePeersAndHaveTheirOwnContext) {
  std::int32_t can = 77;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 0), ACL_SUCCESS);
  EXPECT_EQ(can, 0);
  if (device_count() < 2) return;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
  aclrtContext first = nullptr;
  aclrtContext second = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&second), ACL_SUCCESS);
  EXPECT_NE(first, second);
  aclrtPtrAttributes attributes = {};
  void* memory = new_memory(1);
  EXPECT_EQ(aclrtPointerGetAttributes(memory, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.id, 1u);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
}

TEST_F(AclTest, DeviceTellsWhatItIs) {
  aclrtRunMode run_mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&run_mode), ACL_SUCCESS);
  EXPECT_EQ(run_mode, ACL_HOST);
  auto status = ACL_RT_DEVICE_STATUS_ABNORMAL;
  EXPECT_EQ(aclrtQueryDeviceStatus(0, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  std::int64_t value = 0;
  for (const auto attribute :
       {ACL_DEV_ATTR_AICPU_CORE_NUM, ACL_DEV_ATTR_AICORE_CORE_NUM, ACL_DEV_ATTR_CUBE_CORE_NUM,
        ACL_DEV_ATTR_VECTOR_CORE_NUM, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE}) {
    value = 0;
    EXPECT_EQ(aclrtGetDeviceInfo(0, attribute, &value), ACL_SUCCESS);
    EXPECT_GT(value, 0);
  }
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, &value), ACL_SUCCESS);
  EXPECT_GE(value, 0);
  for (const auto info : {ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEVICE_INFO_VECTOR_CORE_NUM}) {
    EXPECT_EQ(aclGetDeviceCapability(0, info, &value), ACL_SUCCESS);
    EXPECT_GT(value, 0);
  }
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value), ACL_SUCCESS);
}

TEST_F(AclTest, ThreadsShareTheDefaultContext) {
  aclrtContext mine = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_SUCCESS);
  run_in_new_thread([&] {
    aclrtContext theirs = nullptr;
    EXPECT_TRUE(
        refused(107002, aclrtGetCurrentContext(&theirs), "aclrtGetCurrentContext", "context"));
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetCurrentContext(&theirs), ACL_SUCCESS);
    EXPECT_EQ(mine, theirs);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  aclrtContext still = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&still), ACL_SUCCESS);
}

TEST_F(AclTest, ContextOwnsItsStreamsAndEvents) {
  aclrtContext primary = nullptr;
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtContext current = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, context);
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_TRUE(
      refused(107002, aclrtGetCurrentContext(&current), "aclrtGetCurrentContext", "context"));
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
  EXPECT_TRUE(refused(107017, aclrtDestroyStream(stream), "aclrtDestroyStream", "stream"));
  EXPECT_TRUE(refused(107017, aclrtDestroyEvent(event), "aclrtDestroyEvent", "event"));
}

// Not even while the destroyer waits for the context's streams.
TEST_F(AclTest, ContextThatIsBeingDestroyedIsNobodysCurrentOne) {
  aclrtContext primary = nullptr;
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  Hold hold(new_stream());
  std::thread destroyer([&] { EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS); });
  while (aclrtSetCurrentContext(context) == ACL_SUCCESS) std::this_thread::yield();
  aclrtContext current = nullptr;
  EXPECT_TRUE(
      refused(107002, aclrtGetCurrentContext(&current), "aclrtGetCurrentContext", "context"));
  hold.let_go();
  destroyer.join();
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
}

TEST_F(AclTest, ResetByForceTakesTheContextFromEveryThread) {
  std::promise<void> set;
  std::promise<void> reset;
  std::thread other([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    set.set_value();
    reset.get_future().wait();
    std::int32_t device = 77;
    EXPECT_TRUE(refused(107002, aclrtGetDevice(&device), "aclrtGetDevice", "context"));
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  });
  set.get_future().wait();
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  reset.set_value();
  other.join();
}

TEST_F(AclTest, OptionsAreOfTheContextAndOfTheProcess) {
  std::int64_t value = 77;
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3);
  EXPECT_TRUE(refused(107021, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value),
                      "aclrtGetSysParamOpt", "never set"));
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace acl_test
