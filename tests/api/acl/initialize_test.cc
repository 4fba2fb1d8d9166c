// aclInit and aclFinalize, versions, this thread's errors.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "api/acl/world.h"

namespace acl_test {
namespace {

// In the working directory of the test; one per process, since tests run side by side.
class File {
 public:
  explicit File(const std::string& text) {
    static int count = 0;
    path_ = testing::TempDir() + "acl_" + std::to_string(::getpid()) + "_" +
            std::to_string(++count) + ".json";
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

TEST(AclInit, CountsAndFinalizesAtOnce) {
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_TRUE(refused(ACL_ERROR_REPEAT_INITIALIZE, aclInit(nullptr), "aclInit", "already"));
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_TRUE(refused(ACL_ERROR_REPEAT_FINALIZE, aclFinalize(), "aclFinalize", "finalized"));
  EXPECT_EQ(aclInit(""), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(AclInit, FinalizeReferenceCountsDown) {
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  std::uint64_t count = 77;
  EXPECT_EQ(aclFinalizeReference(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS);
  aclGetRecentErrMsg();
  EXPECT_TRUE(refused(ACL_ERROR_REPEAT_FINALIZE, aclFinalizeReference(&count),
                      "aclFinalizeReference", "not initialized"));
  EXPECT_EQ(count, 1u);
}

TEST(AclInit, TakesJsonObjectsAlone) {
  for (const char* text : {"", "[]", "{", "{}}", "{\"a\"}", "{\"a\": }", "{\"a\": 01}", "{a: 1}",
                           "{\"a\": 1,}", "{\"a\": \"\\x\"}", "{\"a\": \"\\u12g4\"}", "nonsense",
                           "{\"a\": 1e}", "{\"a\": tru}", "{\"a\": \"b}"}) {
    const File file(text);
    EXPECT_TRUE(refused(ACL_ERROR_PARSE_FILE, aclInit(file.path()), "aclInit", "JSON")) << text;
  }
  const File file("{\"a\":" + std::string(1000000, '['));  // deep as well
  EXPECT_TRUE(refused(ACL_ERROR_PARSE_FILE, aclInit(file.path()), "aclInit", "JSON"));
}

TEST(AclInit, TakesOneConfigurationPerProcess) {
  const File file(" {\"dump\": {\"list\": [1, -0.5e+3, true, false, null, \"\\u00e9\\n\"]}} \n");
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_TRUE(refused(ACL_ERROR_INVALID_PARAM, aclInit(file.path()), "aclInit", "configPath"));
  EXPECT_TRUE(refused(ACL_ERROR_REPEAT_FINALIZE, aclFinalize(), "aclFinalize", "finalized"));
}

TEST(AclInit, EmptyObjectIsNoConfiguration) {
  const File empty(" { } ");
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclInit(empty.path()), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(AclInit, FinalizeReleasesWhatIsLeft) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const aclrtEvent event = new_event();
  static bool ran;
  ran = false;
  const auto mark = [](void*) { ran = true; };
  EXPECT_EQ(aclrtLaunchHostFunc(new_stream(), mark, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(refused(107017, aclrtDestroyEvent(event), "aclrtDestroyEvent", "event"));
  EXPECT_TRUE(refused(107002, aclrtSynchronizeDevice(), "aclrtSynchronizeDevice", "context"));
  EXPECT_TRUE(refused(507007, aclrtResetDevice(0), "aclrtResetDevice", "deviceId"));
}

TEST(AclErrors, AreOfTheThreadAndForgottenWhenRead) {
  aclGetRecentErrMsg();
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  run_in_new_thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); });
  const char* message = aclGetRecentErrMsg();
  ASSERT_NE(message, nullptr);
  EXPECT_STREQ(
      message,
      ("ACL_Error(100000): aclrtFree: devPtr is null\n"
       "ACL_Error(107001): aclrtSetDevice: deviceId is -1, but devices are numbered 0 to " +
       std::to_string(device_count() - 1) + " (NORMGRAD_DEVICES)")
          .c_str());
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST(AclErrors, LastCodeIsPeekedAtAndTaken) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(-1), 107001);
  run_in_new_thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); });
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107001);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107001);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST(AclVersion, IsOfTheHeaders) {
  std::int32_t version[3] = {};
  EXPECT_EQ(aclrtGetVersion(&version[0], &version[1], &version[2]), ACL_SUCCESS);
  EXPECT_EQ(version[0], ACL_MAJOR_VERSION);
  EXPECT_EQ(version[1], ACL_MINOR_VERSION);
  EXPECT_EQ(version[2], ACL_PATCH_VERSION);
  char package[] = "runtime";
  char text[128];
  std::int32_t number = 0;
  EXPECT_EQ(aclsysGetVersionStr(package, text), ACL_SUCCESS);
  EXPECT_STREQ(text, "1.17.0");
  EXPECT_EQ(aclsysGetVersionNum(package, &number), ACL_SUCCESS);
  EXPECT_EQ(number, 11700000);
}

TEST(AclVersion, SocNameFollowsTheEnvironment) {
  const char* soc = std::getenv("NORMGRAD_SOC");
  const bool older = soc != nullptr && std::strcmp(soc, "Ascend910B") == 0;
  EXPECT_STREQ(aclrtGetSocName(), older ? "Ascend910B2" : "Ascend950PR_9589");
}

}  // namespace
}  // namespace acl_test
