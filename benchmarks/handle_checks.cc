// Most handles that the registry knows are looked up there, in a visit, as every entry point does. The others are found by
// the cheapest call that takes one, less a call that takes none: an upper bound, since that call goes on to use the object.
#include "handle_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_batch_norm_stats.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"
#include "infiniop.h"
#include "infinirt.h"

namespace {

using normgrad::HandleKind;
using Handles = std::vector<void*>;

constexpr double kBarNanoseconds = 60;
constexpr std::size_t kMostInCaches = 1000;
constexpr std::size_t kChecks = 2000;  // of a round, which is too short to be interrupted often
constexpr int kRounds = 401;           // eight times every handle, or more

struct Kind {
  const char* name;
  std::size_t most;
  void* (*create)();
  int (*destroy)(void*);
  bool (*check)(void*);     // true: alive
  bool (*baseline)(void*);  // to take off; null: nothing
  bool gains_owner =
      false;  // who finds one writes to it, and so waits for memory and for other finders
};

template <HandleKind kind>
bool is_registered(void* handle) {
  const normgrad::Visit visit;
  return normgrad::is_live(handle, kind);
}

aclTensor* new_tensor(std::int64_t extent, void* data) {
  return aclCreateTensor(&extent, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &extent, 1, data);
}

void* new_descriptor() {
  static infiniopHandle_t handle = nullptr;
  static infiniopTensorDescriptor_t data = nullptr, vector = nullptr;
  if (handle == nullptr) {
    constexpr std::size_t kShape[] = {2, 4};
    infiniopCreateHandle(&handle);
    infiniopCreateTensorDescriptor(&data, 2, kShape, nullptr, INFINI_DTYPE_F32);
    infiniopCreateTensorDescriptor(&vector, 1, kShape + 1, nullptr, INFINI_DTYPE_F32);
  }
  infiniopRMSNormBackwardDescriptor_t made = nullptr;
  infiniopCreateRMSNormBackwardDescriptor(handle, &made, data, vector, data, data, vector);
  return made;
}

void* new_executor() {
  static float memory[3][4];
  static const std::int64_t shape[] = {2, 2};
  static aclTensor* const x =
      aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, memory[0]);
  static aclTensor *const mean = new_tensor(2, memory[1]), *const rstd = new_tensor(2, memory[2]);
  std::uint64_t bytes = 0;
  aclOpExecutor* made = nullptr;
  aclnnBatchNormStatsGetWorkspaceSize(x, 1e-5, mean, rstd, &bytes, &made);
  return made;
}

bool call_without_handle(void*) {
  std::uint32_t count = 0;
  return aclrtGetDeviceCount(&count) == 0;
}

const Kind kKinds[] = {
    {"InfiniOp handle", 100000,
     [] {
       infiniopHandle_t made = nullptr;
       infiniopCreateHandle(&made);
       return static_cast<void*>(made);
     },
     [](void* h) {
       return static_cast<int>(infiniopDestroyHandle(static_cast<infiniopHandle_t>(h)));
     },
     is_registered<HandleKind::kInfiniopHandle>, nullptr},
    {"InfiniOp tensor", 100000,
     [] {
       constexpr std::size_t kShape[] = {2, 4};
       infiniopTensorDescriptor_t made = nullptr;
       infiniopCreateTensorDescriptor(&made, 2, kShape, nullptr, INFINI_DTYPE_F32);
       return static_cast<void*>(made);
     },
     [](void* h) {
       return static_cast<int>(
           infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(h)));
     },
     is_registered<HandleKind::kInfiniopTensor>, nullptr},
    {"InfiniOp descriptor", 100000, new_descriptor,
     [](void* h) {
       return static_cast<int>(infiniopDestroyRMSNormBackwardDescriptor(
           static_cast<infiniopRMSNormBackwardDescriptor_t>(h)));
     },
     is_registered<HandleKind::kInfiniopOperator>, nullptr},
    {"infinirt event", 100000,
     [] {
       infinirtEvent_t made = nullptr;
       infinirtEventCreate(&made);
       return static_cast<void*>(made);
     },
     [](void* h) {
       return static_cast<int>(infinirtEventDestroy(static_cast<infinirtEvent_t>(h)));
     },
     [](void* h) { return infinirtEventSynchronize(static_cast<infinirtEvent_t>(h)) == 0; },
     [](void*) { return infinirtStreamSynchronize(nullptr) == 0; }},
    {"aclTensor", 100000, [] { return static_cast<void*>(new_tensor(1, nullptr)); },
     [](void* h) { return static_cast<int>(aclDestroyTensor(static_cast<aclTensor*>(h))); },
     is_registered<HandleKind::kAclTensor>, nullptr},
    {"aclOpExecutor", 100000, new_executor,
     [](void* h) {
       return static_cast<int>(aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(h)));
     },
     is_registered<HandleKind::kAclOpExecutor>, nullptr},
    {"aclrtStream", 1000,  // a device has at most 1984
     [] {
       aclrtStream made = nullptr;
       aclrtCreateStream(&made);
       return made;
     },
     [](void* h) { return aclrtDestroyStream(h); },
     [](void* h) {
       std::int32_t id = 0;
       return aclrtStreamGetId(h, &id) == 0;
     },
     call_without_handle, true},
    {"aclrtEvent", 100000,
     [] {
       aclrtEvent made = nullptr;
       aclrtCreateEvent(&made);
       return made;
     },
     [](void* h) { return aclrtDestroyEvent(h); },
     [](void* h) {
       auto status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
       return aclrtQueryEventStatus(h, &status) == 0;
     },
     call_without_handle, true},
    {"aclrtContext", 1000,
     [] {
       aclrtContext before = nullptr, made = nullptr;
       aclrtGetCurrentContext(&before);
       aclrtCreateContext(&made, 0);
       aclrtSetCurrentContext(before);
       return made;
     },
     [](void* h) { return aclrtDestroyContext(h); },
     [](void* h) { return aclrtSetCurrentContext(h) == 0; }, call_without_handle},
};

// Rounds over handles [begin, end) in turn.
class Timing {
 public:
  Timing(const Handles& handles, std::size_t begin, std::size_t end)
      : handles_(handles), begin_(begin), end_(end), at_(begin) {}

  // Nanoseconds of one check, the median of rounds that take turns with those of the baseline.
  double cost(const Kind& kind) {
    std::vector<double> costs(kRounds);
    for (double& cost : costs) {
      const std::size_t here = at_;
      const double baseline = kind.baseline != nullptr ? round(kind.baseline) : 0;
      at_ = here;
      cost = round(kind.check) - baseline;
    }
    std::nth_element(costs.begin(), costs.begin() + kRounds / 2, costs.end());
    return costs[kRounds / 2];
  }
  bool all_alive() const { return all_alive_; }

 private:
  double round(bool (*call)(void*)) {
    std::size_t at = at_, alive = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < kChecks; ++i) {
      alive += call(handles_[at]) ? 1 : 0;
      if (++at == end_) at = begin_;
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    all_alive_ = all_alive_ && alive == kChecks;
    at_ = at;
    return time.count() / static_cast<double>(kChecks);
  }

  const Handles& handles_;
  const std::size_t begin_, end_;
  std::size_t at_;
  bool all_alive_ = true;
};

struct Cost {
  double nanoseconds;
  bool all_alive;
};

Cost cost_in_one_thread(const Kind& kind, const Handles& handles) {
  Timing timing(handles, 0, handles.size());
  const double ns = timing.cost(kind);
  return {ns, timing.all_alive()};
}

// The slower of two threads at once, each with its half of the handles.
Cost cost_in_two_threads(const Kind& kind, const Handles& handles) {
  const std::size_t middle = handles.size() / 2;
  Timing first(handles, 0, middle), second(handles, middle, handles.size());
  double other = 0;
  std::thread thread([&] {
    aclrtSetDevice(0);
    other = first.cost(kind);
    aclrtResetDevice(0);
  });
  const double own = second.cost(kind);
  thread.join();
  return {std::max(own, other), first.all_alive() && second.all_alive()};
}

bool print_kind(const Kind& kind) {
  bool met = true;
  std::printf("  %-20s", kind.name);
  for (const std::size_t count : {std::size_t{10}, std::size_t{1000}, std::size_t{100000}}) {
    if (count > kind.most) {
      std::printf("       -       -");
      continue;
    }
    Handles handles(count);
    std::generate(handles.begin(), handles.end(), kind.create);
    std::shuffle(handles.begin(), handles.end(), std::mt19937(7));
    const Cost alone = cost_in_one_thread(kind, handles);
    const Cost beside_another = cost_in_two_threads(kind, handles);
    std::printf("  %6.1f  %6.1f", alone.nanoseconds, beside_another.nanoseconds);
    met = met && alone.all_alive && beside_another.all_alive;
    const bool is_judged_alone = !kind.gains_owner || count <= kMostInCaches;
    met = met && (!is_judged_alone || alone.nanoseconds <= kBarNanoseconds);
    met = met && (kind.gains_owner || beside_another.nanoseconds <= kBarNanoseconds);
    aclrtSetDevice(0);  // whichever context the checks left
    for (void* handle : handles) met = kind.destroy(handle) == 0 && met;
    aclrtResetDevice(0);
  }
  std::printf("\n");
  return met;
}

}  // namespace

bool print_handle_checks() {
  std::printf(
      "ns to check a handle, medians of %d rounds: with one thread and with two at once, with so "
      "many alive\n"
      "  %-20s  %14s  %14s  %14s\n",
      kRounds, "", "10", "1000", "100000");
  bool met = true;
  for (const Kind& kind : kKinds) met = print_kind(kind) && met;
  std::printf("bar %.0f ns (streams and events: in one thread, up to %zu alive): %s\n",
              kBarNanoseconds, kMostInCaches, met ? "met" : "MISSED");
  return met;
}
