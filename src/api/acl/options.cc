// Options of a context and of the process: remembered and given back. Our results do not depend on
// them, being deterministic always.
#include "api/acl/runtime.h"

namespace normgrad::api {
namespace {

constexpr int kOfContexts = 3;  // options 0, 1, 2
constexpr int kOfProcess = 4;   // and 3

struct ProcessOptions {
  Mutex mutex;
  std::array<std::optional<std::int64_t>, kOfProcess> values;
};

ProcessOptions& process_options() {
  static constinit NeverDestroyed<ProcessOptions> options;
  return options.get();
}

int check_option(aclSysParamOpt opt, int count) {
  if (is_between(opt, 0, count - 1)) return ACL_SUCCESS;
  return refuse(ACL_ERROR_INVALID_PARAM, "opt is %d, but must be an aclSysParamOpt from 0 to %d",
                static_cast<int>(opt), count - 1);
}

int check_value(aclSysParamOpt opt, std::int64_t value) {
  const std::int64_t most = opt == ACL_OPT_DETERMINISTIC ? 3 : 1;
  if (value >= 0 && value <= most) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "value is %lld, but of opt %d must be from 0 to %lld",
                static_cast<long long>(value), static_cast<int>(opt), static_cast<long long>(most));
}

int give(aclSysParamOpt opt, std::optional<std::int64_t> found, std::int64_t* value) {
  if (!found.has_value()) {
    return refuse(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "opt %d was never set", static_cast<int>(opt));
  }
  *value = *found;
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return entry(__func__, [&] {
    int code = check_option(opt, kOfContexts);
    if (code == ACL_SUCCESS) code = check_value(opt, value);
    if (code != ACL_SUCCESS) return code;
    return on_context([&](Context& context) {
      const std::lock_guard lock(context.mutex);
      context.options[opt] = value;
      return ACL_SUCCESS;
    });
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return entry(__func__, [&] {
    if (value == nullptr) return refuse_null("value");
    const int code = check_option(opt, kOfContexts);
    if (code != ACL_SUCCESS) return code;
    return on_context([&](Context& context) {
      const std::lock_guard lock(context.mutex);
      return give(opt, context.options[opt], value);
    });
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return entry(__func__, [&] {
    int code = check_option(opt, kOfProcess);
    if (code == ACL_SUCCESS) code = check_value(opt, value);
    if (code != ACL_SUCCESS) return code;
    const std::lock_guard lock(process_options().mutex);
    process_options().values[opt] = value;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return entry(__func__, [&] {
    if (value == nullptr) return refuse_null("value");
    const int code = check_option(opt, kOfProcess);
    if (code != ACL_SUCCESS) return code;
    const std::lock_guard lock(process_options().mutex);
    return give(opt, process_options().values[opt], value);
  });
}
