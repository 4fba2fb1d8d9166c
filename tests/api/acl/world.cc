#include "api/acl/world.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace acl_test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool all_are_seven(const char* begin, std::size_t size) {
  return std::all_of(begin, begin + size, [](char c) { return c == 7; });
}

}  // namespace

Mode mode() {
  const std::string name = variable("NORMGRAD_STREAMS");
  if (name == "async") return Mode::kAsync;
  return name == "deferred" ? Mode::kDeferred : Mode::kInline;
}

int device_count() {
  const std::string count = variable("NORMGRAD_DEVICES");
  return count.empty() ? 1 : std::stoi(count);
}

testing::AssertionResult refused(int code, int returned, const std::string& function,
                                 const std::string& words) {
  const char* kept = aclGetRecentErrMsg();
  const std::string message = kept != nullptr ? kept : "(no sentence)";
  const bool right = returned == code && message.find(function) != std::string::npos &&
                     message.find(words) != std::string::npos &&
                     message.find(std::to_string(code)) != std::string::npos;
  if (right) return testing::AssertionSuccess();
  return testing::AssertionFailure() << function << " returned " << returned << ", not " << code
                                     << ", or has not \"" << words << "\" in: " << message;
}

void AclTest::SetUp() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclGetRecentErrMsg();
}

void AclTest::TearDown() {
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  const char* left = aclGetRecentErrMsg();
  EXPECT_EQ(left, nullptr) << left;
}

aclrtStream new_stream() {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  return stream;
}

aclrtEvent new_event() {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  return event;
}

void* new_memory(std::size_t size) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  return memory;
}

Hold::Hold(aclrtStream stream) {
  if (mode() != Mode::kAsync) return;
  const auto wait = [](void* hold) {  // which may be gone when the gate is open
    const auto open = static_cast<Hold*>(hold)->open_;
    static_cast<Hold*>(hold)->begun_.set_value();
    open.wait();
  };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, wait, this), ACL_SUCCESS);
  begun_.get_future().wait();
}

void Hold::let_go() {
  if (held_) gate_.set_value();
  held_ = false;
}

World::World() {
  EXPECT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&dead_context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&other_context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(dead_context), ACL_SUCCESS);
  foreign_stream = new_stream();
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetCurrentDefaultStream(&default_stream), ACL_SUCCESS);
  stream = new_stream();
  dead_stream = acl_test::new_stream();
  event = acl_test::new_event();
  new_event = acl_test::new_event();
  dead_event = acl_test::new_event();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(dead_stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(dead_event), ACL_SUCCESS);
  memory = static_cast<char*>(new_memory(100));
  freed = static_cast<char*>(new_memory(100));
  void* host_memory = nullptr;
  EXPECT_EQ(aclrtMallocHost(&host_memory, 128), ACL_SUCCESS);
  pinned = static_cast<char*>(host_memory);
  EXPECT_EQ(aclrtFree(freed), ACL_SUCCESS);
  host.fill(7);
  std::memset(memory, 7, 128);
  std::memset(pinned, 7, 128);
  dead_buffer = aclCreateDataBuffer(nullptr, 0);
  EXPECT_EQ(aclDestroyDataBuffer(dead_buffer), ACL_SUCCESS);
  std::memset(static_cast<void*>(&out.attributes), 7, sizeof(out.attributes));
}

World::~World() {
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(other_context), ACL_SUCCESS);
}

bool World::is_unchanged() const {
  const auto* attributes = reinterpret_cast<const char*>(&out.attributes);
  return out.pointer == &out && out.i32[0] == 77 && out.i32[1] == 77 && out.i32[2] == 77 &&
         out.u32 == 77 && out.i64 == 77 && out.sizes[0] == 77 && out.sizes[1] == 77 &&
         out.number == 77 && out.run_mode == ACL_DEVICE &&
         out.device_status == ACL_RT_DEVICE_STATUS_END &&
         out.stream_status == ACL_STREAM_STATUS_RESERVED &&
         out.event_status == ACL_EVENT_STATUS_RESERVED &&
         out.recorded_status == ACL_EVENT_RECORDED_STATUS_NOT_READY &&
         out.wait_status == ACL_EVENT_WAIT_STATUS_RESERVED &&
         all_are_seven(attributes, sizeof(out.attributes)) && std::string(out.text) == "text" &&
         all_are_seven(memory, 128) && all_are_seven(pinned, 128) &&
         all_are_seven(host.data(), host.size());
}

void run_in_new_thread(const std::function<void()>& body) {
  std::thread thread(body);
  thread.join();
}

}  // namespace acl_test
