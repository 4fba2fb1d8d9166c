// Bad calls to what allocates, frees, copies and fills.
#include "api/acl/world.h"

namespace acl_test {
namespace {

using W = World&;

constexpr auto kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;
constexpr auto kToDevice = ACL_MEMCPY_HOST_TO_DEVICE;
constexpr auto kToHost = ACL_MEMCPY_DEVICE_TO_HOST;

std::vector<Provocation> of_allocation() {
  return {
      {"aclrtMalloc", 100000, "devPtr", [](W) { return aclrtMalloc(nullptr, 1, kPolicy); }},
      {"aclrtMalloc", 100000, "size", [](W w) { return aclrtMalloc(&w.out.pointer, 0, kPolicy); }},
      {"aclrtMalloc", 107002, "context",
       [](W w) { return aclrtMalloc(&w.out.pointer, 1, kPolicy); }, true},
      {"aclrtMalloc", 207001, "size",
       [](W w) { return aclrtMalloc(&w.out.pointer, SIZE_MAX, kPolicy); }},
      {"aclrtMalloc", 207001, "size",
       [](W w) { return aclrtMalloc(&w.out.pointer, SIZE_MAX / 2, kPolicy); }},
      {"aclrtMallocAlign32", 100000, "size",
       [](W w) { return aclrtMallocAlign32(&w.out.pointer, 0, kPolicy); }},
      {"aclrtMallocCached", 100000, "devPtr",
       [](W) { return aclrtMallocCached(nullptr, 1, kPolicy); }},
      {"aclrtMallocWithCfg", 100000, "attrs",
       [](W w) {
         aclrtMallocConfig config = {nullptr, 1};
         return aclrtMallocWithCfg(&w.out.pointer, 1, kPolicy, &config);
       }},
      {"aclrtMallocWithCfg", 100000, "devPtr",
       [](W) { return aclrtMallocWithCfg(nullptr, 1, kPolicy, nullptr); }},
      {"aclrtMallocHost", 100000, "hostPtr", [](W) { return aclrtMallocHost(nullptr, 1); }},
      {"aclrtMallocHost", 100000, "size", [](W w) { return aclrtMallocHost(&w.out.pointer, 0); }},
      {"aclrtMallocHost", 207001, "size",
       [](W w) { return aclrtMallocHost(&w.out.pointer, SIZE_MAX - 1); }},
      {"aclrtFree", 100000, "devPtr", [](W) { return aclrtFree(nullptr); }},
      {"aclrtFree", 107000, "before", [](W w) { return aclrtFree(w.freed); }},
      {"aclrtFree", 107000, "devPtr", [](W w) { return aclrtFree(w.memory + 64); }},
      {"aclrtFree", 107000, "aclrtMalloc", [](W w) { return aclrtFree(w.host.data()); }},
      {"aclrtFree", 107000, "host memory", [](W w) { return aclrtFree(w.pinned); }},
      {"aclrtFreeHost", 100000, "hostPtr", [](W) { return aclrtFreeHost(nullptr); }},
      {"aclrtFreeHost", 107000, "device memory", [](W w) { return aclrtFreeHost(w.memory); }},
      {"aclrtFreeHost", 107000, "hostPtr", [](W w) { return aclrtFreeHost(w.host.data()); }},
  };
}

std::vector<Provocation> of_copies() {
  return {
      {"aclrtMemcpy", 100000, "dst",
       [](W w) { return aclrtMemcpy(nullptr, 1, w.host.data(), 1, kToDevice); }},
      {"aclrtMemcpy", 100000, "src",
       [](W w) { return aclrtMemcpy(w.memory, 1, nullptr, 1, kToDevice); }},
      {"aclrtMemcpy", 100000, "kind",
       [](W w) { return aclrtMemcpy(w.memory, 1, w.host.data(), 1, as<aclrtMemcpyKind>(6)); }},
      {"aclrtMemcpy", 100000, "kind is -1",
       [](W w) { return aclrtMemcpy(w.memory, 1, w.host.data(), 1, as<aclrtMemcpyKind>(-1)); }},
      {"aclrtMemcpy", 107000, "destMax",
       [](W w) { return aclrtMemcpy(w.memory, 9, w.host.data(), 10, kToDevice); }},
      {"aclrtMemcpy", 107000, "destMax",
       [](W w) { return aclrtMemcpy(w.memory, 0, w.host.data(), 10, kToDevice); }},
      {"aclrtMemcpy", 107000, "dst",
       [](W w) { return aclrtMemcpy(w.memory, 129, w.host.data(), 129, kToDevice); }},
      {"aclrtMemcpy", 107000, "src",
       [](W w) { return aclrtMemcpy(w.host.data(), 129, w.memory, 129, kToHost); }},
      {"aclrtMemcpy", 107000, "dst",
       [](W w) { return aclrtMemcpy(w.freed, 1, w.host.data(), 1, kToDevice); }},
      {"aclrtMemcpy", 107000, "src",
       [](W w) { return aclrtMemcpy(w.host.data(), 1, w.freed, 1, kToHost); }},
      {"aclrtMemcpy", 107000, "dst",
       [](W w) { return aclrtMemcpy(w.memory, SIZE_MAX, w.host.data(), SIZE_MAX, kToDevice); }},
      {"aclrtMemcpy", 107002, "context",
       [](W w) { return aclrtMemcpy(w.memory, 1, w.host.data(), 1, kToDevice); }, true},
      {"aclrtMemcpyAsync", 100000, "dst",
       [](W w) { return aclrtMemcpyAsync(nullptr, 1, w.host.data(), 1, kToDevice, w.stream); }},
      {"aclrtMemcpyAsync", 107000, "destMax",
       [](W w) { return aclrtMemcpyAsync(w.memory, 1, w.host.data(), 2, kToDevice, w.stream); }},
      {"aclrtMemcpyAsync", 107000, "dst",
       [](W w) {
         return aclrtMemcpyAsync(w.memory, 200, w.host.data(), 200, kToDevice, w.stream);
       }},
      {"aclrtMemcpyAsync", 107017, "stream",
       [](W w) {
         return aclrtMemcpyAsync(w.memory, 1, w.host.data(), 1, kToDevice, w.dead_stream);
       }},
      {"aclrtMemcpyAsync", 207000, "host to host",
       [](W w) {
         return aclrtMemcpyAsync(w.host.data(), 1, w.pinned, 1, ACL_MEMCPY_HOST_TO_HOST, w.stream);
       }},
      {"aclrtMemset", 100000, "devPtr", [](W) { return aclrtMemset(nullptr, 1, 0, 1); }},
      {"aclrtMemset", 107000, "maxCount", [](W w) { return aclrtMemset(w.memory, 1, 0, 2); }},
      {"aclrtMemset", 107000, "devPtr", [](W w) { return aclrtMemset(w.memory, 200, 0, 129); }},
      {"aclrtMemset", 107000, "devPtr", [](W w) { return aclrtMemset(w.freed, 1, 0, 1); }},
      {"aclrtMemset", 107002, "context", [](W w) { return aclrtMemset(w.memory, 1, 0, 1); }, true},
      {"aclrtMemsetAsync", 107000, "devPtr",
       [](W w) { return aclrtMemsetAsync(w.memory, 200, 0, 129, w.stream); }},
      {"aclrtMemsetAsync", 107017, "stream",
       [](W w) { return aclrtMemsetAsync(w.memory, 1, 0, 1, w.dead_stream); }},
      {"aclrtMemcpy2d", 100000, "dst",
       [](W w) { return aclrtMemcpy2d(nullptr, 8, w.host.data(), 8, 8, 2, kToDevice); }},
      {"aclrtMemcpy2d", 100000, "width",
       [](W w) { return aclrtMemcpy2d(w.memory, 7, w.host.data(), 8, 8, 2, kToDevice); }},
      {"aclrtMemcpy2d", 100000, "spitch",
       [](W w) { return aclrtMemcpy2d(w.memory, 8, w.host.data(), 7, 8, 2, kToDevice); }},
      {"aclrtMemcpy2d", 100000, "kind",
       [](W w) {
         return aclrtMemcpy2d(w.memory, 8, w.host.data(), 8, 8, 2, as<aclrtMemcpyKind>(0));
       }},
      {"aclrtMemcpy2d", 107000, "dst",
       [](W w) { return aclrtMemcpy2d(w.memory, 60, w.host.data(), 8, 8, 4, kToDevice); }},
      {"aclrtMemcpy2d", 107000, "dst",
       [](W w) {
         return aclrtMemcpy2d(w.memory, SIZE_MAX, w.host.data(), 8, 8, SIZE_MAX, kToDevice);
       }},
      {"aclrtMemcpy2dAsync", 107000, "src",
       [](W w) {
         return aclrtMemcpy2dAsync(w.host.data(), 8, w.memory, 64, 8, 4, kToHost, w.stream);
       }},
      {"aclrtMemcpy2dAsync", 107017, "stream",
       [](W w) {
         return aclrtMemcpy2dAsync(w.memory, 8, w.host.data(), 8, 8, 2, kToDevice, w.event);
       }},
  };
}

std::vector<Provocation> of_questions() {
  return {
      {"aclrtGetMemInfo", 100000, "free",
       [](W w) { return aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &w.out.sizes[1]); }},
      {"aclrtGetMemInfo", 100000, "total",
       [](W w) { return aclrtGetMemInfo(ACL_HBM_MEM, &w.out.sizes[0], nullptr); }},
      {"aclrtGetMemInfo", 100000, "attr",
       [](W w) { return aclrtGetMemInfo(as<aclrtMemAttr>(12), &w.out.sizes[0], &w.out.sizes[1]); }},
      {"aclrtPointerGetAttributes", 100000, "ptr",
       [](W w) { return aclrtPointerGetAttributes(nullptr, &w.out.attributes); }},
      {"aclrtPointerGetAttributes", 100000, "attributes",
       [](W w) { return aclrtPointerGetAttributes(w.memory, nullptr); }},
      {"aclrtPointerGetAttributes", 107000, "ptr",
       [](W w) { return aclrtPointerGetAttributes(w.freed, &w.out.attributes); }},
      {"aclrtHostRegister", 100000, "ptr",
       [](W w) { return aclrtHostRegister(nullptr, 1, ACL_HOST_REGISTER_MAPPED, &w.out.pointer); }},
      {"aclrtHostRegister", 100000, "size",
       [](W w) {
         return aclrtHostRegister(w.host.data(), 0, ACL_HOST_REGISTER_MAPPED, &w.out.pointer);
       }},
      {"aclrtHostRegister", 100000, "devPtr",
       [](W w) { return aclrtHostRegister(w.host.data(), 1, ACL_HOST_REGISTER_MAPPED, nullptr); }},
      {"aclrtHostRegister", 100000, "type",
       [](W w) {
         return aclrtHostRegister(w.host.data(), 1, as<aclrtHostRegisterType>(9), &w.out.pointer);
       }},
      {"aclrtHostUnregister", 100000, "ptr", [](W) { return aclrtHostUnregister(nullptr); }},
      {"aclrtHostUnregister", 107000, "ptr",
       [](W w) { return aclrtHostUnregister(w.host.data()); }},
      {"aclrtMemFlush", 100000, "devPtr", [](W) { return aclrtMemFlush(nullptr, 1); }},
      {"aclrtMemFlush", 107000, "devPtr", [](W w) { return aclrtMemFlush(w.memory, 129); }},
      {"aclrtMemInvalidate", 100000, "size", [](W w) { return aclrtMemInvalidate(w.memory, 0); }},
      {"aclrtMemInvalidate", 107000, "devPtr", [](W w) { return aclrtMemInvalidate(w.freed, 1); }},
  };
}

}  // namespace

std::vector<Provocation> memory_provocations() {
  std::vector<Provocation> all = of_allocation();
  for (const auto& more : {of_copies(), of_questions()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace acl_test
