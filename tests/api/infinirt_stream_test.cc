// Streams, events, graphs.
#include <chrono>
#include <thread>

#include "api/operators.h"

namespace api_test {
namespace {

class Event {
 public:
  explicit Event(std::uint32_t flags = INFINIRT_EVENT_DEFAULT) {
    EXPECT_EQ(infinirtEventCreateWithFlags(&event_, flags), INFINI_STATUS_SUCCESS);
  }
  ~Event() { EXPECT_EQ(infinirtEventDestroy(event_), INFINI_STATUS_SUCCESS); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  infinirtEvent_t get() const { return event_; }
  void record() const { EXPECT_EQ(infinirtEventRecord(event_, nullptr), INFINI_STATUS_SUCCESS); }

 private:
  infinirtEvent_t event_ = nullptr;
};

infinirtEvent_t dead_event() {
  infinirtEvent_t event = nullptr;
  EXPECT_EQ(infinirtEventCreate(&event), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtEventDestroy(event), INFINI_STATUS_SUCCESS);
  return event;
}

TEST(InfinirtStream, TheStreamIsNull) {
  infinirtStream_t stream = sentinel<void>();
  EXPECT_EQ(infinirtStreamCreate(&stream), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(infinirtStreamSynchronize(stream), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtStreamDestroy(stream), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtStream, RefusesNullAndForeignStreams) {
  const Event event;
  void* foreign = sentinel<void>();
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtStreamCreate(nullptr),
                         "infinirtStreamCreate", "stream_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtStreamDestroy(foreign),
                         "infinirtStreamDestroy", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtStreamSynchronize(foreign),
                         "infinirtStreamSynchronize", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtStreamWaitEvent(foreign, event.get()),
                         "infinirtStreamWaitEvent", "stream"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventRecord(event.get(), foreign),
                         "infinirtEventRecord", "stream"));
}

TEST(InfinirtStream, WaitingForAnEventSucceeds) {
  const Event event;
  EXPECT_EQ(infinirtStreamWaitEvent(nullptr, event.get()), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtEvent, IsCompleteBeforeAndAfterItIsRecorded) {
  const Event event;
  auto status = INFINIRT_EVENT_NOT_READY;
  EXPECT_EQ(infinirtEventQuery(event.get(), &status), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(status, INFINIRT_EVENT_COMPLETE);
  event.record();
  EXPECT_EQ(infinirtEventQuery(event.get(), &status), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(status, INFINIRT_EVENT_COMPLETE);
  EXPECT_EQ(infinirtEventSynchronize(event.get()), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtEvent, MeasuresMilliseconds) {
  const Event start;
  const Event end(INFINIRT_EVENT_BLOCKING_SYNC);
  start.record();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end.record();
  float ms = 0;
  float back = 0;
  EXPECT_EQ(infinirtEventElapsedTime(&ms, start.get(), end.get()), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infinirtEventElapsedTime(&back, end.get(), start.get()), INFINI_STATUS_SUCCESS);
  EXPECT_GE(ms, 20.0f);
  EXPECT_LT(ms, 20000.0f);
  EXPECT_EQ(back, -ms);
}

TEST(InfinirtEvent, RecordingAgainMovesIt) {
  const Event start;
  const Event end;
  end.record();
  start.record();
  end.record();
  float ms = -1;
  EXPECT_EQ(infinirtEventElapsedTime(&ms, start.get(), end.get()), INFINI_STATUS_SUCCESS);
  EXPECT_GE(ms, 0.0f);
}

TEST(InfinirtEvent, UnrecordedAndUntimedEventsHaveNoTime) {
  const Event recorded;
  const Event never;
  const Event untimed(INFINIRT_EVENT_DISABLE_TIMING);
  recorded.record();
  untimed.record();
  float ms = 77;
  const auto elapsed = [&](const Event& start, const Event& end) {
    return infinirtEventElapsedTime(&ms, start.get(), end.get());
  };
  const std::string name = "infinirtEventElapsedTime";
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, elapsed(never, recorded), name, "start"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, elapsed(recorded, never), name, "end"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, elapsed(untimed, recorded), name, "start"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, elapsed(recorded, untimed), name, "end"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER,
                         infinirtEventElapsedTime(nullptr, recorded.get(), recorded.get()), name,
                         "ms_ptr"));
  EXPECT_EQ(ms, 77.0f);
}

TEST(InfinirtEvent, CreationRefusesNullAndUnknownFlags) {
  infinirtEvent_t event = sentinel<void>();
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventCreate(nullptr),
                         "infinirtEventCreate", "event_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventCreateWithFlags(nullptr, 0),
                         "infinirtEventCreateWithFlags", "event_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventCreateWithFlags(&event, 4),
                         "infinirtEventCreateWithFlags", "flags"));
  EXPECT_EQ(event, sentinel<void>());
}

TEST(InfinirtEvent, DeadAndForeignEventsAreRefused) {
  const Event good;
  good.record();
  int local = 0;
  for (infinirtEvent_t bad : {dead_event(), static_cast<infinirtEvent_t>(&local),
                              static_cast<infinirtEvent_t>(sentinel<void>())}) {
    auto status = INFINIRT_EVENT_NOT_READY;
    float ms = 77;
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventRecord(bad, nullptr),
                           "infinirtEventRecord", "event"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventQuery(bad, &status),
                           "infinirtEventQuery", "event"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventSynchronize(bad),
                           "infinirtEventSynchronize", "event"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventDestroy(bad),
                           "infinirtEventDestroy", "event"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtStreamWaitEvent(nullptr, bad),
                           "infinirtStreamWaitEvent", "event"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventElapsedTime(&ms, bad, good.get()),
                           "infinirtEventElapsedTime", "start"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infinirtEventElapsedTime(&ms, good.get(), bad),
                           "infinirtEventElapsedTime", "end"));
    EXPECT_EQ(status, INFINIRT_EVENT_NOT_READY);
    EXPECT_EQ(ms, 77.0f);
  }
}

TEST(InfinirtEvent, NullIsANullPointerExceptToDestroy) {
  const Event event;
  auto status = INFINIRT_EVENT_NOT_READY;
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventRecord(nullptr, nullptr),
                         "infinirtEventRecord", "event"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventQuery(nullptr, &status),
                         "infinirtEventQuery", "event"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventQuery(event.get(), nullptr),
                         "infinirtEventQuery", "status_ptr"));
  EXPECT_TRUE(fails_with(INFINI_STATUS_NULL_POINTER, infinirtEventSynchronize(nullptr),
                         "infinirtEventSynchronize", "event"));
  EXPECT_EQ(infinirtEventDestroy(nullptr), INFINI_STATUS_SUCCESS);
}

TEST(InfinirtGraph, IsNotSupported) {
  infinirtGraph_t graph = sentinel<void>();
  infinirtGraphExec_t exec = sentinel<void>();
  const auto code = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
  EXPECT_TRUE(fails_with(code,
                         infinirtStreamBeginCapture(nullptr, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL),
                         "infinirtStreamBeginCapture", "capture"));
  EXPECT_TRUE(fails_with(code, infinirtStreamEndCapture(nullptr, &graph),
                         "infinirtStreamEndCapture", "capture"));
  EXPECT_TRUE(fails_with(code, infinirtGraphInstantiate(&exec, nullptr, nullptr, nullptr, 0),
                         "infinirtGraphInstantiate", "graphs"));
  EXPECT_TRUE(fails_with(code, infinirtGraphDestroy(nullptr), "infinirtGraphDestroy", "graphs"));
  EXPECT_TRUE(
      fails_with(code, infinirtGraphExecDestroy(nullptr), "infinirtGraphExecDestroy", "graphs"));
  EXPECT_TRUE(
      fails_with(code, infinirtGraphLuanch(nullptr, nullptr), "infinirtGraphLuanch", "graphs"));
  EXPECT_EQ(graph, sentinel<void>());
  EXPECT_EQ(exec, sentinel<void>());
}

}  // namespace
}  // namespace api_test
