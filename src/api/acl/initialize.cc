// Beginning and end. Nothing needs aclInit: it counts, and reads its file so that a mistake in it
// shows.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "api/acl/runtime.h"

namespace normgrad::api {
namespace {

constexpr std::size_t kLongestFile = std::size_t{10} << 20;

struct Initialization {
  Mutex mutex;
  std::uint64_t count = 0;
  bool finalized = false;             // since the last aclInit
  std::optional<std::string> config;  // of the first aclInit
};

Initialization& initialization() {
  static constinit NeverDestroyed<Initialization> instance;
  return instance.get();
}

int read_file(const char* path, std::string* text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (file == nullptr) {
    return refuse(ACL_ERROR_INVALID_FILE, "configPath is \"%s\", which cannot be read", path);
  }
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    text->append(buffer, size);
    if (text->size() <= kLongestFile) continue;
    return refuse(ACL_ERROR_INVALID_FILE_SIZE,
                  "configPath is \"%s\", which is longer than %zu bytes", path, kLongestFile);
  }
  if (std::ferror(file.get()) == 0) return ACL_SUCCESS;
  return refuse(ACL_ERROR_INVALID_FILE, "configPath is \"%s\", which cannot be read", path);
}

// accept() keeps no tree, so that no text is too deep for it; an object is what begins like one.
bool is_json_object(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' && nlohmann::json::accept(text);
}

// No file, and a file that says nothing, are the same: "".
int read_config(const char* path, std::string* text) {
  if (path == nullptr || *path == '\0') return ACL_SUCCESS;
  const int code = read_file(path, text);
  if (code != ACL_SUCCESS) return code;
  if (!is_json_object(*text)) {
    return refuse(ACL_ERROR_PARSE_FILE, "configPath is \"%s\", which is not a JSON object", path);
  }
  if (text->find('"') == std::string::npos) text->clear();
  return ACL_SUCCESS;
}

// The caller holds the lock.
int count_repeat(Initialization& state) {
  ++state.count;
  return refuse(ACL_ERROR_REPEAT_INITIALIZE,
                "ACL is initialized already, which does no harm: this was call %llu",
                static_cast<unsigned long long>(state.count));
}

// The file is read without the lock: it may be one that answers late.
int begin(Initialization& state, const char* path) {
  {
    const std::lock_guard lock(state.mutex);
    if (state.count > 0) return count_repeat(state);
  }
  std::string config;
  const int code = read_config(path, &config);
  if (code != ACL_SUCCESS) return code;
  const std::lock_guard lock(state.mutex);
  if (state.count > 0) return count_repeat(state);
  if (state.config.value_or(config) != config) {
    return refuse(ACL_ERROR_INVALID_PARAM,
                  "configPath has another text than the first time, but a process has one "
                  "configuration");
  }
  state.config = std::move(config);
  state.count = 1;
  state.finalized = false;
  return ACL_SUCCESS;
}

int refuse_to_finalize() {
  return refuse(ACL_ERROR_REPEAT_FINALIZE, "ACL is not initialized, or finalized already");
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace
using normgrad::WorkFailure;

aclError aclInit(const char* configPath) {
  return entry(__func__, [&] { return begin(initialization(), configPath); });
}

aclError aclFinalize(void) {
  return entry(__func__, [] {
    const int code = check_may_wait();
    if (code != ACL_SUCCESS) return code;
    Initialization& state = initialization();
    {
      const std::lock_guard lock(state.mutex);
      if (state.finalized) return refuse_to_finalize();
      state.finalized = true;
      state.count = 0;
    }
    WorkFailure failure;
    release_everything(&failure);
    return answer_failure(failure);
  });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return entry(__func__, [&] {
    const int code = check_may_wait();
    if (code != ACL_SUCCESS) return code;
    Initialization& state = initialization();
    uint64_t left = 0;
    {
      const std::lock_guard lock(state.mutex);
      if (state.count == 0) return refuse_to_finalize();
      left = --state.count;
      state.finalized = left == 0;
    }
    WorkFailure failure;
    if (left == 0) release_everything(&failure);
    if (refCount != nullptr) *refCount = left;
    return answer_failure(failure);
  });
}
