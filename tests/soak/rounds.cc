#include "soak/rounds.h"

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "acl_program.h"
#include "calls/world.h"
#include "describe.h"
#include "infini_program.h"

namespace soak {
namespace {

using fuzz::expect;

std::vector<std::uint8_t> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
  return bytes;
}

// Whatever a round has left of ACL ends here.
void finalize() {
  aclInit(nullptr);
  expect(aclFinalize() == ACL_SUCCESS, "aclFinalize");
  aclGetRecentErrMsg();
}

template <class Program>
long run_program(std::mt19937_64& random) {
  const std::vector<std::uint8_t> data = random_bytes(random, 1024);
  fuzz::Bytes bytes(data.data(), data.size());
  Program program(bytes);
  long steps = 0;
  for (; steps < 400 && !bytes.empty(); ++steps) program.step();
  program.end();
  return steps;
}

// No call of these fails: nothing is short.
class Expectations : public calls::Watch {
 public:
  const char* function = "World";
  void begin() override {}
  void end(int code, calls::May) override {
    fuzz::expect(code == 0, std::string(function) + " returned " + std::to_string(code));
  }
  void expect(bool holds, const char* what) override {
    fuzz::expect(holds, std::string(function) + ": " + what);
  }
};

// `count` random entries; those that end what other threads use only if it is `alone`.
void run_entries(std::uint64_t seed, int count, bool alone) {
  static const std::vector<calls::Entry> all = calls::all_calls();
  std::mt19937_64 random(seed);
  for (int i = 0; i < count;) {
    Expectations watch;
    calls::World world(watch);
    for (bool ended = false; i < count && !ended; ++i) {
      const calls::Entry& entry = all[random() % all.size()];
      if (entry.of_process && !alone) continue;
      watch.function = entry.function.c_str();
      entry.run(world);
      ended = entry.of_process;
    }
    watch.function = "World";
  }
}

}  // namespace

void Rounds::acl_program() { calls_ += run_program<fuzz::AclProgram>(random_); }

void Rounds::infini_program() { calls_ += run_program<fuzz::InfiniProgram>(random_); }

void Rounds::describe() {
  constexpr int kTimes = 20;
  expect(aclrtSetDevice(0) == ACL_SUCCESS, "aclrtSetDevice");
  for (int i = 0; i < kTimes; ++i) {
    const std::vector<std::uint8_t> data = random_bytes(random_, 512);
    fuzz::Bytes bytes(data.data(), data.size());
    fuzz::describe_infiniop(bytes);
    fuzz::describe_aclnn(bytes);
  }
  calls_ += 2 * kTimes;
}

void Rounds::every_call() {
  constexpr int kEntries = 200;
  run_entries(random_(), kEntries, true);
  calls_ += kEntries;
}

void Rounds::threads_at_once() {
  constexpr int kThreads = 4, kEntries = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([seed = random_()] { run_entries(seed, kEntries, false); });
  }
  for (std::thread& thread : threads) thread.join();
  calls_ += kThreads * kEntries;
}

// Large enough for several threads.
void Rounds::large_operator() {
  constexpr std::size_t kShape[] = {512, 1024};
  static std::vector<float> x(512 * 1024, 1.0F), dx(x), dw(1024), w(1024, 1.0F);
  static std::vector<char> workspace(1 << 22);
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t data = nullptr, vector = nullptr;
  infiniopRMSNormBackwardDescriptor_t made = nullptr;
  int code = infiniopCreateHandle(&handle);
  code += infiniopCreateTensorDescriptor(&data, 2, kShape, nullptr, INFINI_DTYPE_F32);
  code += infiniopCreateTensorDescriptor(&vector, 1, kShape + 1, nullptr, INFINI_DTYPE_F32);
  code += infiniopCreateRMSNormBackwardDescriptor(handle, &made, data, vector, data, data, vector);
  code += infiniopRMSNormBackward(made, workspace.data(), workspace.size(), dx.data(), dw.data(),
                                  x.data(), x.data(), w.data(), nullptr);
  code += infiniopDestroyRMSNormBackwardDescriptor(made);
  code += infiniopDestroyTensorDescriptor(data);
  code += infiniopDestroyTensorDescriptor(vector);
  code += infiniopDestroyHandle(handle);
  expect(code == 0, "a large operator failed");
  calls_ += 9;
}

void Rounds::run(int kind) {
  finalize();
  switch (kind) {
    case 0:
      return acl_program();
    case 1:
      return infini_program();
    case 2:
      return describe();
    case 3:
      return every_call();
    case 4:
      return threads_at_once();
    default:
      return large_operator();
  }
}

void Rounds::one() {
  const int kind = static_cast<int>(random_() % kKinds);
  if (random_() % 4 != 0) {
    run(kind);
  } else {
    std::thread([&] { run(kind); }).join();
  }
  finalize();
}

void Rounds::one_of_each() {
  for (int kind = 0; kind < kKinds; ++kind) run(kind);
  finalize();
}

}  // namespace soak
