// Eight threads submit 1000 operations each (200 under sanitizers) to each of four streams that they share: every result is
// that of the serial run.
#include <gtest/gtest.h>

#include <thread>

#include "aclnn/device.h"
#include "aclnn/serial_run.h"

namespace aclnn_test {
namespace {

constexpr std::size_t kThreads = 8, kStreams = 4, kCalls = 20;
#if NORMGRAD_SANITIZED
constexpr std::size_t kOperations = 200;
#else
constexpr std::size_t kOperations = 1000;
#endif
constexpr std::uint64_t kSeed = 50000000;

// A call stays on one stream, so that its next run comes after its last one.
class Client {
 public:
  Client(std::vector<Expectation> calls, const aclrtStream* streams)
      : calls_(std::move(calls)), streams_(streams) {}

  void operator()() {
    const Device device;
    const std::size_t all = kStreams * kOperations;
    for (std::size_t done = 0; done < all && failure_.empty(); done += calls_.size()) {
      round();
    }
  }
  const std::string& failure() const { return failure_; }

 private:
  void note(const std::string& failure, const Call& call) {
    if (!failure.empty() && failure_.empty()) {
      failure_ = failure + " in " + call.what().description();
    }
  }
  void round() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!calls_[i].call->reset()) note("no device memory", *calls_[i].call);
      note(calls_[i].call->start(streams_[i % kStreams]), *calls_[i].call);
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      const aclError code = aclrtSynchronizeStream(streams_[s]);
      if (code != ACL_SUCCESS && failure_.empty()) failure_ = complaint("synchronize", code);
    }
    for (const Expectation& e : calls_) {
      note(e.difference(), *e.call);
    }
  }

  std::vector<Expectation> calls_;
  const aclrtStream* streams_;
  std::string failure_;
};

TEST(Concurrency, ResultsAreThoseOfTheSerialRun) {
  const Device device;
  const Stream streams[kStreams];
  aclrtStream handles[kStreams];
  for (std::size_t s = 0; s < kStreams; ++s) handles[s] = streams[s].get();
  std::vector<Client> clients;
  for (std::size_t t = 0; t < kThreads; ++t) {
    clients.emplace_back(small_calls(kSeed + t * 100000, kCalls), handles);
  }
  std::vector<std::thread> threads;
  for (Client& client : clients) threads.emplace_back(std::ref(client));
  for (std::thread& thread : threads) thread.join();
  for (const Client& client : clients) EXPECT_EQ(client.failure(), "");
}

}  // namespace
}  // namespace aclnn_test
