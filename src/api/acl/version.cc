// Versions, names and the errors of this thread.
#include <cstdio>
#include <cstring>

#include "api/acl/runtime.h"
#include "runtime/environment.h"

namespace normgrad::api {
namespace {

int check_package(const char* name) {
  for (const char* known : {"runtime", "acl", "CANN"}) {
    if (std::strcmp(name, known) == 0) return ACL_SUCCESS;
  }
  return refuse(ACL_ERROR_INVALID_PARAM, "pkgName is \"%s\", but must be runtime, acl or CANN",
                name);
}

// A failure here is the answer of the call, not another error of the thread.
int check_level(const char* name, aclrtLastErrLevel level) {
  return acl_entry(name, [&]() -> int {
    if (level == ACL_RT_THREAD_LEVEL) return ACL_SUCCESS;
    return refuse(ACL_ERROR_INVALID_PARAM, "level is %d, but must be ACL_RT_THREAD_LEVEL (0)",
                  static_cast<int>(level));
  });
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return entry(__func__, [&] {
    if (majorVersion == nullptr) return refuse_null("majorVersion");
    if (minorVersion == nullptr) return refuse_null("minorVersion");
    if (patchVersion == nullptr) return refuse_null("patchVersion");
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
  });
}

const char* aclrtGetSocName(void) {
  switch (normgrad::environment().soc) {
    case normgrad::Soc::kAscend950:
      return "Ascend950PR_9589";
    case normgrad::Soc::kAscend910B:
      break;
  }
  return "Ascend910B2";
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return entry(__func__, [&] {
    if (pkgName == nullptr) return refuse_null("pkgName");
    if (versionStr == nullptr) return refuse_null("versionStr");
    const int code = check_package(pkgName);
    if (code != ACL_SUCCESS) return code;
    std::snprintf(versionStr, 128, "%d.%d.%d", ACL_MAJOR_VERSION, ACL_MINOR_VERSION,
                  ACL_PATCH_VERSION);
    return ACL_SUCCESS;
  });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return entry(__func__, [&] {
    if (pkgName == nullptr) return refuse_null("pkgName");
    if (versionNum == nullptr) return refuse_null("versionNum");
    const int code = check_package(pkgName);
    if (code != ACL_SUCCESS) return code;
    *versionNum =
        ACL_MAJOR_VERSION * 10000000 + ACL_MINOR_VERSION * 100000 + ACL_PATCH_VERSION * 1000;
    return ACL_SUCCESS;
  });
}

const char* aclGetRecentErrMsg(void) { return normgrad::take_kept_errors(); }

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  const int code = check_level(__func__, level);
  return code == ACL_SUCCESS ? last_code() : code;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const int code = check_level(__func__, level);
  return code == ACL_SUCCESS ? std::exchange(last_code(), ACL_SUCCESS) : code;
}
