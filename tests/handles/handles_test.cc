// Every argument that is a handle, given every handle that it must not be: null, destroyed, of every other kind, of none,
// and addresses that nobody may touch. The answer is the documented code, with a sentence, and nothing else happens.
#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>
#include <set>

#include "handles/arguments.h"
#include "normgrad/last_error.h"

namespace handles {
namespace {

// Addresses of memory that is not given back are none.
constexpr const char* kTakeNoHandle[] = {"aclAppLog",
                                         "aclCreateBoolArray",
                                         "aclCreateDataBuffer",
                                         "aclCreateFloatArray",
                                         "aclCreateIntArray",
                                         "aclCreateScalar",
                                         "aclCreateTensor",
                                         "aclDataTypeSize",
                                         "aclFinalize",
                                         "aclFinalizeReference",
                                         "aclFloat16ToFloat",
                                         "aclFloatToFloat16",
                                         "aclGetDeviceCapability",
                                         "aclGetRecentErrMsg",
                                         "aclInit",
                                         "aclnnFinalize",
                                         "aclnnInit",
                                         "aclrtCreateContext",
                                         "aclrtCreateEvent",
                                         "aclrtCreateEventExWithFlag",
                                         "aclrtCreateEventWithFlag",
                                         "aclrtCreateStream",
                                         "aclrtCreateStreamWithConfig",
                                         "aclrtCtxGetCurrentDefaultStream",
                                         "aclrtCtxGetSysParamOpt",
                                         "aclrtCtxSetSysParamOpt",
                                         "aclrtDeviceCanAccessPeer",
                                         "aclrtDeviceDisablePeerAccess",
                                         "aclrtDeviceEnablePeerAccess",
                                         "aclrtGetCurrentContext",
                                         "aclrtGetDevice",
                                         "aclrtGetDeviceCount",
                                         "aclrtGetDeviceInfo",
                                         "aclrtGetLastError",
                                         "aclrtGetMemInfo",
                                         "aclrtGetPrimaryCtxState",
                                         "aclrtGetRunMode",
                                         "aclrtGetSocName",
                                         "aclrtGetSysParamOpt",
                                         "aclrtGetVersion",
                                         "aclrtHostRegister",
                                         "aclrtMalloc",
                                         "aclrtMallocAlign32",
                                         "aclrtMallocCached",
                                         "aclrtMallocHost",
                                         "aclrtMallocWithCfg",
                                         "aclrtMemFlush",
                                         "aclrtMemInvalidate",
                                         "aclrtMemcpy",
                                         "aclrtMemcpy2d",
                                         "aclrtMemset",
                                         "aclrtPeekAtLastError",
                                         "aclrtPointerGetAttributes",
                                         "aclrtProcessReport",
                                         "aclrtQueryDeviceStatus",
                                         "aclrtResetDevice",
                                         "aclrtResetDeviceForce",
                                         "aclrtSetDevice",
                                         "aclrtSetSysParamOpt",
                                         "aclrtSynchronizeDevice",
                                         "aclrtSynchronizeDeviceWithTimeout",
                                         "aclsysGetVersionNum",
                                         "aclsysGetVersionStr",
                                         "infiniopCreateHandle",
                                         "infiniopCreateTensorDescriptor",
                                         "infinirtDeviceSynchronize",
                                         "infinirtEventCreate",
                                         "infinirtEventCreateWithFlags",
                                         "infinirtGetAllDeviceCount",
                                         "infinirtGetDevice",
                                         "infinirtGetDeviceCount",
                                         "infinirtGetDeviceResourceSnapshot",
                                         "infinirtGetMemInfo",
                                         "infinirtInit",
                                         "infinirtMalloc",
                                         "infinirtMallocHost",
                                         "infinirtMemcpy",
                                         "infinirtMemset",
                                         "infinirtSetDevice",
                                         "infinirtStreamCreate"};

class Handles : public testing::Test {
 protected:
  void refuse_all(const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
      SCOPED_TRACE(argument.function + ", " + argument.name);
      if (argument.null.has_value()) {
        EXPECT_EQ(argument.call(zoo_, nullptr), *argument.null) << "null";
        ++calls_;
      }
      refuse_other_kinds(argument);
      refuse_foreign(argument);
      refuse_dead(argument);
      if (HasFailure()) return;
    }
    std::printf("%zu arguments, %ld bad handles\n", arguments.size(), calls_);
  }

 private:
  void refuse(const Argument& argument, void* handle, const std::string& what) {
    EXPECT_EQ(argument.call(zoo_, handle), argument.dead) << what;
    if (argument.dead != 0) {
      EXPECT_STRNE(normgradGetLastError(), "") << what;
    }
    ++calls_;
  }
  void refuse_dead(const Argument& argument) {
    for (const Kind kind : argument.kinds) refuse(argument, zoo_.dead(kind), "destroyed");
  }
  void refuse_other_kinds(const Argument& argument) {
    for (int i = 0; i < kKinds; ++i) {
      const auto kind = static_cast<Kind>(i);
      if (argument.kinds.contains(kind)) continue;
      refuse(argument, zoo_.live(kind), "of kind " + std::to_string(i));
    }
  }
  // Beside live ones; and where a look would end the process.
  void refuse_foreign(const Argument& argument) {
    static char memory[4096];
    std::set<std::uintptr_t> addresses = {1, 8, 0x1000, 0x5EA7BEEF, ~std::uintptr_t{0}};
    addresses.insert(reinterpret_cast<std::uintptr_t>(memory) + 64);
    addresses.insert(reinterpret_cast<std::uintptr_t>(&addresses));
    for (const Kind kind : argument.kinds) {
      const auto live = reinterpret_cast<std::uintptr_t>(zoo_.live(kind));
      for (const std::uintptr_t odd : {live + 1, live + 8, live - 1, live | std::uintptr_t{1} << 56,
                                       live | std::uintptr_t{1} << 63}) {
        addresses.insert(odd);
      }
    }
    for (const std::uintptr_t address : addresses) {
      refuse(argument, reinterpret_cast<void*>(address), "foreign " + std::to_string(address));
    }
  }

  Zoo zoo_;
  long calls_ = 0;
};

TEST_F(Handles, ThatAreBadAreRefusedByInfini) { refuse_all(infini_arguments()); }
TEST_F(Handles, ThatAreBadAreRefusedByTheRuntime) { refuse_all(acl_arguments()); }
TEST_F(Handles, ThatAreBadAreRefusedByAclnn) { refuse_all(aclnn_arguments()); }

// What a new function takes, somebody has to say.
TEST(HandleTables, NameEveryExportedFunctionThatTakesOne) {
  std::set<std::string> exported, taking;
  for (const calls::Entry& entry : calls::all_calls()) exported.insert(entry.function);
  for (const auto& arguments : {infini_arguments(), acl_arguments(), aclnn_arguments()}) {
    for (const Argument& argument : arguments) taking.insert(argument.function);
  }
  for (const char* const function : kTakeNoHandle) {
    EXPECT_FALSE(taking.contains(function)) << function << " is in the tables";
    EXPECT_TRUE(exported.contains(function)) << function << " is not exported";
  }
  const std::set<std::string> not_taking(std::begin(kTakeNoHandle), std::end(kTakeNoHandle));
  for (const std::string& function : exported) {
    EXPECT_TRUE(taking.contains(function) || not_taking.contains(function))
        << function << " is neither in the tables nor said to take no handle";
  }
  for (const std::string& function : taking) EXPECT_TRUE(exported.contains(function)) << function;
  std::printf("%zu exported functions, %zu of them take handles\n", exported.size(), taking.size());
}

}  // namespace
}  // namespace handles
