// The calls of libascendcl.so but for streams, events and memory.
#include "calls/world.h"

#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations"  // aclGetDataBufferSize, which is here still

namespace calls {
namespace {

using W = World&;

template <class Value, class Ask>
void asks(W w, Ask&& ask) {
  Value value{};
  w.succeeds([&] { return ask(&value); });
}

// Everything of ACL is gone from here on, also of other threads.
void end_acl(W w) {
  w.forget_acl();
  w.must(aclFinalize());
}

std::vector<Entry> of_beginning_and_end() {
  return {
      {"aclInit",
       [](W w) {
         end_acl(w);
         if (!w.may_fail([] { return aclInit(nullptr); })) w.must(aclInit(nullptr));
       },
       true},
      {"aclFinalize",
       [](W w) {
         w.forget_acl();
         w.succeeds([] { return aclFinalize(); });
       },
       true},
      {"aclFinalizeReference",
       [](W w) {
         end_acl(w);
         w.must(aclInit(nullptr));
         asks<std::uint64_t>(w, [](auto left) { return aclFinalizeReference(left); });
       },
       true},
      {"aclGetRecentErrMsg",
       [](W w) {
         aclrtFree(nullptr);
         w.succeeds([] { return aclGetRecentErrMsg() != nullptr ? 0 : 1; });
       }},
      {"aclrtPeekAtLastError",
       [](W w) {
         aclrtFree(nullptr);
         w.answers(ACL_ERROR_INVALID_PARAM,
                   [] { return aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL); });
         aclrtGetLastError(ACL_RT_THREAD_LEVEL);
       }},
      {"aclrtGetLastError",
       [](W w) {
         aclrtFree(nullptr);
         w.answers(ACL_ERROR_INVALID_PARAM, [] { return aclrtGetLastError(ACL_RT_THREAD_LEVEL); });
       }},
      {"aclrtGetVersion",
       [](W w) {
         std::int32_t v[3];
         w.succeeds([&] { return aclrtGetVersion(v, v + 1, v + 2); });
       }},
      {"aclrtGetSocName",
       [](W w) { w.succeeds([] { return aclrtGetSocName() != nullptr ? 0 : 1; }); }},
      {"aclsysGetVersionStr",
       [](W w) {
         char package[] = "runtime", text[128];
         w.succeeds([&] { return aclsysGetVersionStr(package, text); });
       }},
      {"aclsysGetVersionNum",
       [](W w) {
         char package[] = "runtime";
         asks<std::int32_t>(w, [&](auto number) { return aclsysGetVersionNum(package, number); });
       }},
      {"aclAppLog",
       [](W w) {
         w.succeeds([] {
           aclAppLog(ACL_INFO, "calls", "acl_calls.cc", 1, "%d", 1);
           return 0;
         });
       }},
  };
}

// Device 1 is a peer where there is one (NORMGRAD_DEVICES).
int of_peer(W w) {
  std::uint32_t devices = 0;
  w.must(aclrtGetDeviceCount(&devices));
  return devices > 1 ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_DEVICEID;
}

std::vector<Entry> of_devices() {
  return {
      {"aclrtSetDevice",
       [](W w) {
         if (w.may_fail([] { return aclrtSetDevice(0); })) w.must(aclrtResetDevice(0));
       }},
      {"aclrtResetDevice",
       [](W w) {
         w.must(aclrtSetDevice(0));
         w.succeeds([] { return aclrtResetDevice(0); });
       }},
      {"aclrtResetDeviceForce",
       [](W w) {
         w.forget_acl();
         w.succeeds([] { return aclrtResetDeviceForce(0); });
       },
       true},
      {"aclrtGetDevice", [](W w) { asks<std::int32_t>(w, aclrtGetDevice); }},
      {"aclrtGetDeviceCount", [](W w) { asks<std::uint32_t>(w, aclrtGetDeviceCount); }},
      {"aclrtGetRunMode", [](W w) { asks<aclrtRunMode>(w, aclrtGetRunMode); }},
      {"aclrtSynchronizeDevice", [](W w) { w.may_fail([] { return aclrtSynchronizeDevice(); }); }},
      {"aclrtSynchronizeDeviceWithTimeout",
       [](W w) { w.may_fail([] { return aclrtSynchronizeDeviceWithTimeout(10000); }); }},
      {"aclrtDeviceCanAccessPeer",
       [](W w) {
         asks<std::int32_t>(w, [](auto can) { return aclrtDeviceCanAccessPeer(can, 0, 0); });
       }},
      {"aclrtDeviceEnablePeerAccess",
       [](W w) { w.answers(of_peer(w), [] { return aclrtDeviceEnablePeerAccess(1, 0); }); }},
      {"aclrtDeviceDisablePeerAccess",
       [](W w) { w.answers(of_peer(w), [] { return aclrtDeviceDisablePeerAccess(1); }); }},
      {"aclrtGetDeviceInfo",
       [](W w) {
         asks<std::int64_t>(
             w, [](auto n) { return aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, n); });
       }},
      {"aclGetDeviceCapability",
       [](W w) {
         asks<std::int64_t>(
             w, [](auto n) { return aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, n); });
       }},
      {"aclrtQueryDeviceStatus",
       [](W w) {
         asks<aclrtDeviceStatus>(w, [](auto s) { return aclrtQueryDeviceStatus(0, s); });
       }},
  };
}

// A new context is its thread's current one; the old one comes back.
std::vector<Entry> of_contexts() {
  return {
      {"aclrtCreateContext",
       [](W w) {
         aclrtContext own = nullptr;
         w.must(aclrtGetCurrentContext(&own));
         w.makes<void>([](auto made) { return aclrtCreateContext(made, 0); }, aclrtDestroyContext);
         w.must(aclrtSetCurrentContext(own));
       }},
      {"aclrtDestroyContext",
       [](W w) {
         aclrtContext own = nullptr, made = nullptr;
         w.must(aclrtGetCurrentContext(&own));
         w.must(aclrtCreateContext(&made, 0));
         w.succeeds([&] { return aclrtDestroyContext(made); });
         w.must(aclrtSetCurrentContext(own));
       }},
      {"aclrtSetCurrentContext",
       [](W w) {
         aclrtContext own = nullptr;
         w.must(aclrtGetCurrentContext(&own));
         w.succeeds([&] { return aclrtSetCurrentContext(own); });
       }},
      {"aclrtGetCurrentContext", [](W w) { asks<aclrtContext>(w, aclrtGetCurrentContext); }},
      {"aclrtCtxGetCurrentDefaultStream",
       [](W w) { asks<aclrtStream>(w, aclrtCtxGetCurrentDefaultStream); }},
      {"aclrtGetPrimaryCtxState",
       [](W w) {
         std::uint32_t flags = 0;
         asks<std::int32_t>(w, [&](auto on) { return aclrtGetPrimaryCtxState(0, &flags, on); });
       }},
      {"aclrtCtxSetSysParamOpt",
       [](W w) { w.succeeds([] { return aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); }); }},
      {"aclrtCtxGetSysParamOpt",
       [](W w) {
         w.must(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
         asks<std::int64_t>(
             w, [](auto v) { return aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, v); });
       }},
      {"aclrtSetSysParamOpt",
       [](W w) { w.succeeds([] { return aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); }); }},
      {"aclrtGetSysParamOpt",
       [](W w) {
         w.must(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
         asks<std::int64_t>(w,
                            [](auto v) { return aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, v); });
       }},
  };
}

std::vector<Entry> of_numbers_and_buffers() {
  return {
      {"aclFloat16ToFloat",
       [](W w) { w.succeeds([] { return aclFloat16ToFloat(0x3C00) == 1 ? 0 : 1; }); }},
      {"aclFloatToFloat16",
       [](W w) { w.succeeds([] { return aclFloatToFloat16(1) == 0x3C00 ? 0 : 1; }); }},
      {"aclDataTypeSize",
       [](W w) { w.succeeds([] { return aclDataTypeSize(ACL_FLOAT) == 4 ? 0 : 1; }); }},
      {"aclCreateDataBuffer",
       [](W w) {
         w.returns([&] { return aclCreateDataBuffer(w.memory, 256); }, aclDestroyDataBuffer);
       }},
      {"aclDestroyDataBuffer",
       [](W w) {
         aclDataBuffer* const made = aclCreateDataBuffer(w.memory, 256);
         w.succeeds([&] { return aclDestroyDataBuffer(made); });
       }},
      {"aclUpdateDataBuffer",
       [](W w) { w.succeeds([&] { return aclUpdateDataBuffer(w.buffer, w.memory, 256); }); }},
      {"aclGetDataBufferAddr",
       [](W w) { w.succeeds([&] { return aclGetDataBufferAddr(w.buffer) == w.memory ? 0 : 1; }); }},
      {"aclGetDataBufferSize",
       [](W w) { w.succeeds([&] { return aclGetDataBufferSize(w.buffer) == 256 ? 0 : 1; }); }},
      {"aclGetDataBufferSizeV2",
       [](W w) { w.succeeds([&] { return aclGetDataBufferSizeV2(w.buffer) == 256 ? 0 : 1; }); }},
  };
}

}  // namespace

std::vector<Entry> device_calls() {
  std::vector<Entry> all;
  for (const auto& some :
       {of_beginning_and_end(), of_devices(), of_contexts(), of_numbers_and_buffers()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace calls
