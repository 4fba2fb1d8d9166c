// What the runtime's tests share: the stream mode they run in, a device with streams and events in
// every state of life, and refusals with their sentence.
#ifndef NORMGRAD_TESTS_API_ACL_WORLD_H
#define NORMGRAD_TESTS_API_ACL_WORLD_H

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "acl/acl.h"

namespace acl_test {

enum class Mode { kInline, kAsync, kDeferred };
Mode mode();         // NORMGRAD_STREAMS
int device_count();  // NORMGRAD_DEVICES

// A number in place of an enumerator, as C lets callers pass it.
template <class Enum>
Enum as(int number) {
  return static_cast<Enum>(number);
}

// Was the call refused with `code`, and does its sentence have the function's name and `words`?
testing::AssertionResult refused(int code, int returned, const std::string& function,
                                 const std::string& words);

// Device 0 is set, and is reset by force afterwards.
class AclTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

aclrtStream new_stream();
aclrtEvent new_event();
void* new_memory(std::size_t size);

// Keeps a stream of the async mode busy, from now on, until it is let go; in the other modes
// nothing is needed.
class Hold {
 public:
  explicit Hold(aclrtStream stream);
  ~Hold() { let_go(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void let_go();

 private:
  std::promise<void> begun_;
  std::promise<void> gate_;
  std::shared_future<void> open_ = gate_.get_future().share();
  bool held_ = true;
};

// Everything that a bad call could use or damage.
struct World {
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  aclrtStream stream = nullptr;
  aclrtStream dead_stream = nullptr;
  aclrtStream foreign_stream = nullptr;  // of another context
  aclrtStream default_stream = nullptr;
  aclrtEvent event = nullptr;  // recorded and complete
  aclrtEvent new_event = nullptr;
  aclrtEvent dead_event = nullptr;
  aclrtContext primary = nullptr;
  aclrtContext other_context = nullptr;
  aclrtContext dead_context = nullptr;
  char* memory = nullptr;  // 128 bytes of device memory, all 7
  char* freed = nullptr;
  char* pinned = nullptr;  // 128 bytes from aclrtMallocHost, all 7
  aclDataBuffer* dead_buffer = nullptr;
  std::array<char, 256> host;  // all 7

  // Where calls write; unchanged by one that fails.
  struct Outputs {
    void* pointer = this;
    std::int32_t i32[3] = {77, 77, 77};
    std::uint32_t u32 = 77;
    std::int64_t i64 = 77;
    std::size_t sizes[2] = {77, 77};
    float number = 77;
    aclrtRunMode run_mode = ACL_DEVICE;
    aclrtDeviceStatus device_status = ACL_RT_DEVICE_STATUS_END;
    aclrtStreamStatus stream_status = ACL_STREAM_STATUS_RESERVED;
    aclrtEventStatus event_status = ACL_EVENT_STATUS_RESERVED;
    aclrtEventRecordedStatus recorded_status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    aclrtEventWaitStatus wait_status = ACL_EVENT_WAIT_STATUS_RESERVED;
    aclrtPtrAttributes attributes = {};
    char text[8] = "text";
  } out;
  bool is_unchanged() const;
};

struct Provocation {
  const char* function;
  int code;
  const char* words;  // of the sentence
  std::function<int(World&)> call;
  bool without_context = false;  // in a thread that has none
};
std::vector<Provocation> device_provocations();
std::vector<Provocation> stream_provocations();
std::vector<Provocation> memory_provocations();

void run_in_new_thread(const std::function<void()>& body);

}  // namespace acl_test

#endif
