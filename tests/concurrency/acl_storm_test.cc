// Eight threads create and destroy streams, events, tensors, executors and contexts of the ACL
// family, and use and destroy each other's: documented codes, and every operation that was accepted
// is done, with right bits.
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_batch_norm_elemt.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "aclnn/device.h"
#include "concurrency/slots.h"
#include "concurrency/threads.h"

namespace concurrency_test {
namespace {

constexpr int kRounds = 1500;
constexpr std::int64_t kChannels = 4, kElements = 8 * kChannels;
// A dead stream, event, context; none; a dead tensor, executor.
constexpr int kDead = ACL_ERROR_RT_INVALID_HANDLE, kNoContext = ACL_ERROR_RT_CONTEXT_NULL,
              kDeadTensor = 161002, kDeadExecutor = 561000;

// Every parameter of y = (x - mean)*invstd*w + b is 1, so that y = x: the address of a dead tensor
// may come back as another one, which must do as well.
struct Numbers {
  float x[kElements], ones[kChannels] = {1, 1, 1, 1};
  Numbers() {
    for (int i = 0; i < kElements; ++i) x[i] = static_cast<float>(i);
  }
};
const Numbers numbers;

aclTensor* tensor(const float* data, bool is_vector) {
  const std::int64_t vector[] = {kChannels}, matrix[] = {kElements / kChannels, kChannels};
  const std::int64_t* shape = is_vector ? vector : matrix;
  const std::uint64_t dims = is_vector ? 1 : 2;
  return aclCreateTensor(shape, dims, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, dims,
                         const_cast<float*>(data));
}

// Like x, its tensor lives longer than any parameter, so that no dead parameter's address is its own:
// who destroys that would destroy another thread's x or y, whose address might then come back too.
struct Output {
  Output() {
    for (float& value : y) value = -1;
  }
  ~Output() { EXPECT_EQ(aclDestroyTensor(handle), ACL_SUCCESS); }
  Output(const Output&) = delete;
  bool is_right() const {
    for (int i = 0; i < kElements; ++i) {
      if (y[i] != (accepted ? numbers.x[i] : -1)) return false;
    }
    return true;
  }
  float y[kElements];
  bool accepted = false;
  std::vector<std::byte> workspace;
  aclTensor* const handle = tensor(y, false);
};

struct World {
  World() {
    for (std::size_t i = 0; i < 8; ++i) ones.put(i, tensor(numbers.ones, true));
  }
  ~World() { EXPECT_EQ(aclDestroyTensor(x), ACL_SUCCESS); }
  aclTensor* const x = tensor(numbers.x, false);
  Slots<aclrtStream> streams;
  Slots<aclrtEvent> events;
  Slots<aclTensor*> ones;
};

// Of the parameters any may be dead.
aclOpExecutor* first_phase(const World& world, Dice& dice, Output& output, Codes& codes) {
  const auto one = [&] { return world.ones.look(dice(8)); };
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  codes.add(aclnnBatchNormElemtGetWorkspaceSize(world.x, one(), one(), one(), one(), 0,
                                                output.handle, &bytes, &executor));
  output.workspace.resize(bytes);
  return executor;
}

int run_phase_two(Output& output, aclOpExecutor* executor, aclrtStream stream) {
  return aclnnBatchNormElemt(output.workspace.data(), output.workspace.size(), executor, stream);
}

class Client {
 public:
  Client(World& world, int number) : world_(world), dice_(number), outputs_(kRounds) {}

  void operator()() {
    const aclnn_test::Device device;
    for (int round = 0; round < kRounds; ++round) {
      replace_stream();
      replace_event();
      replace_tensor();
      run(world_.streams.look(dice_(8)), outputs_[static_cast<std::size_t>(round)]);
      order();
      destroy_somebody_elses();
    }
  }
  std::string unexpected() const { return codes_.others({ACL_SUCCESS, kDead}); }
  std::string unexpected_of_operators() const {
    return operator_codes_.others({ACL_SUCCESS, kDead, kDeadTensor});
  }
  const std::vector<Output>& outputs() const { return outputs_; }

 private:
  void replace_stream() {
    aclrtStream stream = nullptr;
    codes_.add(aclrtCreateStream(&stream));
    stream = world_.streams.put(dice_(8), stream);
    if (stream != nullptr) codes_.add(aclrtDestroyStream(stream));
  }
  void replace_event() {
    aclrtEvent event = nullptr;
    codes_.add(aclrtCreateEvent(&event));
    event = world_.events.put(dice_(8), event);
    if (event != nullptr) codes_.add(aclrtDestroyEvent(event));
  }
  void replace_tensor() {
    if (aclTensor* old = world_.ones.put(dice_(8), tensor(numbers.ones, true))) {
      operator_codes_.add(aclDestroyTensor(old));
    }
  }
  void run(aclrtStream stream, Output& output) {
    aclOpExecutor* executor = first_phase(world_, dice_, output, operator_codes_);
    if (executor == nullptr) return;
    output.accepted =
        operator_codes_.add(run_phase_two(output, executor, stream)) == ACL_SUCCESS;
  }
  void order() {
    aclrtEvent event = world_.events.look(dice_(8));
    if (event == nullptr) return;
    const aclrtStream from = world_.streams.look(dice_(8)), to = world_.streams.look(dice_(8));
    if (from != nullptr) codes_.add(aclrtRecordEvent(event, from));
    if (to != nullptr) codes_.add(aclrtStreamWaitEvent(to, event));
    aclrtEventRecordedStatus status;
    codes_.add(aclrtQueryEventStatus(event, &status));
    if (dice_(4) == 0) codes_.add(aclrtSynchronizeEvent(event));
    if (dice_(4) == 0 && to != nullptr) codes_.add(aclrtSynchronizeStream(to));
  }
  void destroy_somebody_elses() {
    if (aclrtStream stream = world_.streams.look(dice_(8))) codes_.add(aclrtDestroyStream(stream));
    if (aclrtEvent event = world_.events.look(dice_(8))) codes_.add(aclrtDestroyEvent(event));
    if (dice_(4) != 0) return;
    if (aclTensor* one = world_.ones.look(dice_(8))) operator_codes_.add(aclDestroyTensor(one));
  }

  World& world_;
  Dice dice_;
  Codes codes_, operator_codes_;
  std::vector<Output> outputs_;
};

TEST(AclStorm, AnswersWithDocumentedCodesAndRightBits) {
  World world;
  std::vector<std::unique_ptr<Client>> clients;
  for (int t = 0; t < kThreads; ++t) clients.push_back(std::make_unique<Client>(world, t));
  {
    const aclnn_test::Device device;
    in_threads(kThreads, [&](int t) { (*clients[static_cast<std::size_t>(t)])(); });
    world.streams.clear(aclrtDestroyStream);
    world.events.clear(aclrtDestroyEvent);
    world.ones.clear(aclDestroyTensor);
  }  // and with the device its streams
  std::size_t accepted = 0;
  for (const auto& client : clients) {
    EXPECT_EQ(client->unexpected(), "");
    EXPECT_EQ(client->unexpected_of_operators(), "");
    for (const Output& output : client->outputs()) {
      EXPECT_TRUE(output.is_right());
      accepted += output.accepted;
    }
  }
  EXPECT_GT(accepted, 0u);
}

// One thread makes repeatable executors and runs each until it is gone; the others destroy them. So
// an address comes back only when its maker knows that it was dead.
TEST(AclStorm, RepeatableExecutorsGoWhileTheyRun) {
  const aclnn_test::Device device;
  std::atomic<aclOpExecutor*> shared = nullptr;
  std::atomic<bool> done = false;
  Codes codes[kThreads];
  int runs = 0;
  bool right = true;
  in_threads(kThreads, [&](int t) {
    Codes& mine = codes[t];
    const aclnn_test::Device of_thread;
    if (t > 0) {
      while (!done) {
        if (aclOpExecutor* executor = shared.load()) mine.add(aclDestroyAclOpExecutor(executor));
        std::this_thread::yield();
      }
      return;
    }
    const aclnn_test::Stream stream;
    World world;
    Dice dice(1);
    for (int round = 0; round < kRounds / 10; ++round) {
      Output output;
      aclOpExecutor* executor = first_phase(world, dice, output, mine);
      mine.add(aclSetAclOpExecutorRepeatable(executor));
      shared = executor;
      while (mine.add(run_phase_two(output, executor, stream.get())) == ACL_SUCCESS) {
        output.accepted = true;
        ++runs;
      }
      shared = nullptr;
      mine.add(aclrtSynchronizeStream(stream.get()));
      right &= output.is_right();
    }
    world.ones.clear(aclDestroyTensor);
    done = true;
  });
  EXPECT_TRUE(right);
  EXPECT_GT(runs, 0);
  for (const Codes& mine : codes) EXPECT_EQ(mine.others({ACL_SUCCESS, kDeadExecutor}), "");
}

// Of several threads that make an executor repeatable at once, none is told that it is dead.
TEST(AclStorm, ExecutorsBecomeRepeatableOnce) {
  const aclnn_test::Device device;
  constexpr int kTogether = 3;
  World world;
  Dice dice(1);
  Output output;
  Codes of_phase_one, codes[kTogether];
  std::barrier step(kTogether);
  aclOpExecutor* executor = nullptr;
  in_threads(kTogether, [&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      if (t == 0) executor = first_phase(world, dice, output, of_phase_one);
      step.arrive_and_wait();
      codes[t].add(aclSetAclOpExecutorRepeatable(executor));
      step.arrive_and_wait();
      if (t == 0) of_phase_one.add(aclDestroyAclOpExecutor(executor));
    }
  });
  world.ones.clear(aclDestroyTensor);
  EXPECT_EQ(of_phase_one.others({ACL_SUCCESS}), "");
  for (const Codes& mine : codes) EXPECT_EQ(mine.others({ACL_SUCCESS}), "");
}

// Tensors go while another thread changes them.
TEST(AclStorm, TensorsGoWhileTheyAreChanged) {
  const std::int64_t shape[] = {kChannels};
  std::atomic<aclTensor*> shared = nullptr;
  Codes of_changes, of_ends;
  std::thread changes([&] {
    aclTensor* one = shared;
    for (; one != reinterpret_cast<aclTensor*>(&shared); one = shared) {
      if (one == nullptr) continue;
      of_changes.add(
          aclInitTensor(one, shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr));
    }
  });
  for (int i = 0; i < 100 * kRounds; ++i) {
    aclTensor* const one = tensor(numbers.ones, true);
    shared = one;
    of_ends.add(aclDestroyTensor(one));
  }
  shared = reinterpret_cast<aclTensor*>(&shared);
  changes.join();
  EXPECT_EQ(of_changes.others({ACL_SUCCESS, kDeadTensor}), "");
  EXPECT_EQ(of_ends.others({ACL_SUCCESS}), "");
}

// Contexts go while other threads are in them, with all that they own.
TEST(AclStorm, ContextsGoWhileOthersUseThem) {
  Slots<aclrtContext> contexts;
  Codes codes[kThreads];
  in_threads(kThreads, [&](int t) {
    Dice dice(t);
    Codes& mine = codes[t];
    for (int round = 0; round < kRounds / 3; ++round) {
      aclrtContext context = nullptr;
      mine.add(aclrtCreateContext(&context, 0));
      context = contexts.put(dice(8), context);
      if (context != nullptr) mine.add(aclrtDestroyContext(context));
      context = contexts.look(dice(8));
      if (context != nullptr) mine.add(aclrtSetCurrentContext(context));
      aclrtStream stream = nullptr;
      aclrtEvent event = nullptr;
      if (mine.add(aclrtCreateEvent(&event)) == ACL_SUCCESS) {
        mine.add(aclrtRecordEvent(event, nullptr));
        mine.add(aclrtSynchronizeEvent(event));
      }
      if (mine.add(aclrtCreateStream(&stream)) == ACL_SUCCESS) {
        mine.add(aclrtSynchronizeStream(stream));
        if (dice(2) == 0) mine.add(aclrtDestroyStream(stream));
      }
      mine.add(aclrtSynchronizeDevice());
    }
  });
  contexts.clear(aclrtDestroyContext);
  for (const Codes& mine : codes) {
    EXPECT_EQ(mine.others({ACL_SUCCESS, kDead, kNoContext}), "");
  }
}

}  // namespace
}  // namespace concurrency_test
