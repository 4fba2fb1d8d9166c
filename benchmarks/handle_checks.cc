// Kinds that the registry knows are looked up there. A stream is found by a call that takes one, less a call that takes
// none. An event is found in a table of the library's (core/live_objects.h), less what it takes to own it without a table:
// what is left is the look-up, without the reading of an object that the call goes on to use.
#include "handle_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_batch_norm_stats.h"
#include "core/handle_registry.h"
#include "core/live_objects.h"
#include "infiniop.h"

namespace {

using normgrad::HandleKind;
using Handles = std::vector<void*>;

constexpr double kBarNanoseconds = 60;
constexpr std::size_t kChecks = 200000;  // of a round
constexpr int kRounds = 9;

struct Kind {
  const char* name;
  std::size_t most;
  void* (*create)();
  int (*destroy)(void*);
  bool (*check)(void*);
  bool (*baseline)(void*);  // null: nothing to take off
};

template <HandleKind kind>
bool is_registered(void* handle) {
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

// As large as an event.
struct EventLike : std::enable_shared_from_this<EventLike> {
  char contents[80] = {};
};

normgrad::LiveObjects<EventLike>& events() {
  static normgrad::LiveObjects<EventLike> all;
  return all;
}

std::map<void*, std::shared_ptr<EventLike>>& owned_events() {
  static std::map<void*, std::shared_ptr<EventLike>> all;
  return all;
}

void* new_event() {
  auto made = std::make_shared<EventLike>();
  events().publish(made);
  owned_events()[made.get()] = made;
  return made.get();
}

int destroy_event(void* handle) {
  events().unpublish(handle);
  return owned_events().erase(handle) == 1 ? 0 : 1;
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
    {"InfiniOp descriptor", 100000, new_descriptor,
     [](void* h) {
       return static_cast<int>(infiniopDestroyRMSNormBackwardDescriptor(
           static_cast<infiniopRMSNormBackwardDescriptor_t>(h)));
     },
     is_registered<HandleKind::kInfiniopRmsNormBackward>, nullptr},
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
     [](void*) {
       std::int32_t device = 0;
       return aclrtGetDevice(&device) == 0;
     }},
    {"aclrtEvent", 100000, new_event, destroy_event,
     [](void* h) { return events().find(h) != nullptr; },
     [](void* h) { return static_cast<EventLike*>(h)->shared_from_this() != nullptr; }},
};

// Nanoseconds of one check of handles [begin, end) in turn; negative if one was not alive.
double time_checks(const Handles& handles, std::size_t begin, std::size_t end,
                   bool (*check)(void*)) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t alive = 0;
  for (std::size_t i = 0, at = begin; i < kChecks; ++i) {
    alive += check(handles[at]) ? 1 : 0;
    if (++at == end) at = begin;
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return alive == kChecks ? time.count() / static_cast<double>(kChecks) : -1;
}

// The slower of two threads at once, each with its half of the handles.
double time_in_two_threads(const Handles& handles, bool (*check)(void*)) {
  const std::size_t middle = handles.size() / 2;
  double other = 0;
  std::thread thread([&] {
    aclrtSetDevice(0);
    other = time_checks(handles, 0, middle, check);
    aclrtResetDevice(0);
  });
  const double own = time_checks(handles, middle, handles.size(), check);
  thread.join();
  return own < 0 || other < 0 ? -1 : std::max(own, other);
}

template <class Time>
double median(Time&& time) {
  std::vector<double> times(kRounds);
  std::generate(times.begin(), times.end(), time);
  if (*std::min_element(times.begin(), times.end()) < 0) return -1;
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

double cost(const Kind& kind, const Handles& handles, bool two_threads) {
  const auto of = [&](bool (*check)(void*)) {
    return median([&] {
      return two_threads ? time_in_two_threads(handles, check)
                         : time_checks(handles, 0, handles.size(), check);
    });
  };
  const double all = of(kind.check);
  if (all < 0 || kind.baseline == nullptr) return all;
  return std::max(0.0, all - of(kind.baseline));
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
    for (const bool two : {false, true}) {
      const double ns = cost(kind, handles, two);
      std::printf("  %6.1f", ns);
      met = met && ns >= 0 && ns <= kBarNanoseconds;
    }
    for (void* handle : handles) met = kind.destroy(handle) == 0 && met;
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
  std::printf("bar %.0f ns: %s\n", kBarNanoseconds, met ? "met" : "MISSED");
  return met;
}
