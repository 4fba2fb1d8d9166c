// Every exported function of the C libraries, with every request of its own that the system can refuse refused in turn:
// a documented code and a sentence, no handle written, nothing lost, and the same call works afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <string>

#include "calls/world.h"
#include "runtime/handle_registry.h"
#include "exhaustion/full_device.h"
#include "exhaustion/resources.h"
#include "normgrad/last_error.h"

namespace exhaustion {
namespace {

using calls::Entry;
using calls::May;
using calls::World;

struct Library {
  const char* name;
  const char* exports;  // its version script
  std::vector<Entry> entries;
  int out_of_memory;  // its documented code
  bool maps = false, starts_threads = false;
};

std::vector<Entry> ascendcl() {
  std::vector<Entry> all = calls::device_calls();
  for (const auto& more : {calls::stream_calls(), calls::memory_calls()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

const std::vector<Library>& libraries() {
  static const std::vector<Library> all = {
      {"infinirt", "infinirt/infinirt.map", calls::infinirt_calls(), INFINI_STATUS_INTERNAL_ERROR,
       true, false},
      {"infiniop", "infiniop/infiniop.map", calls::infiniop_calls(), INFINI_STATUS_INTERNAL_ERROR},
      {"ascendcl", "acl/acl.map", ascendcl(), ACL_ERROR_RT_MEMORY_ALLOCATION, true, true},
      {"nnopbase", "aclnn/nnopbase.map", calls::nnopbase_calls(), 361001},
      {"opapi_nn", "aclnn/opapi_nn.map", calls::opapi_nn_calls(), 361001, false, true},
  };
  return all;
}

// Over all libraries, printed at the end (docs/reliability.md).
struct Totals : testing::Environment {
  std::size_t functions = 0;
  long memory = 0, handles = 0, mappings = 0, threads = 0, mallocs = 0;
  void TearDown() override {
    std::printf(
        "in all: %zu functions have an entry; refused: %ld requests for memory, %ld with a full "
        "table of handles, %ld mappings, %ld threads, %ld mallocs\n",
        functions, memory, handles, mappings, threads, mallocs);
  }
};
Totals& totals() {
  static auto* const all = static_cast<Totals*>(testing::AddGlobalTestEnvironment(new Totals));
  return *all;
}
[[maybe_unused]] const Totals& at_the_end = totals();

bool is_async() {
  const char* const streams = std::getenv("NORMGRAD_STREAMS");
  return streams != nullptr && std::string(streams) == "async";
}

// Handles that nothing lies behind, as many as the registry takes without growing: the next one needs memory.
class FullRegistry {
 public:
  FullRegistry() {
    fail(Resource::kHeap, 0, Mode::kFromThenOn);
    while (add()) continue;
    stop_failing();
  }
  ~FullRegistry() {
    for (; count_ > 0; --count_) normgrad::unregister_handle(fake(count_), kKind);
  }
  FullRegistry(const FullRegistry&) = delete;
  FullRegistry& operator=(const FullRegistry&) = delete;

 private:
  static constexpr auto kKind = normgrad::HandleKind::kAclScalar;
  static const void* fake(std::uintptr_t number) {
    return reinterpret_cast<const void*>(number * 16);
  }
  bool add() {
    try {
      normgrad::register_handle(fake(count_ + 1), kKind);
    } catch (const std::bad_alloc&) {
      return false;
    }
    ++count_;
    return true;
  }
  std::uintptr_t count_ = 0;
};

// Fails request `index` while the call of an entry runs.
class Trial : public calls::Watch {
 public:
  explicit Trial(int out_of_memory) : out_of_memory_(out_of_memory) {}

  Resource resource = Resource::kHeap;
  Mode mode = Mode::kOnce;
  long index = LONG_MAX;
  bool full_registry = false;
  long failures = 0, asked = 0;

  void begin() override {
    if (full_registry) registry_ = std::make_unique<FullRegistry>();
    if (resource == Resource::kMapping) device_ = std::make_unique<FullDevice>();
    fail(resource, index, mode);
  }
  void end(int code, May may) override {
    failures = stop_failing();
    asked = requests();
    registry_.reset();
    device_.reset();
    if (code == 0) return;
    EXPECT_GT(failures, 0) << "code " << code << " although nothing failed";
    EXPECT_EQ(may, May::kFail) << "code " << code << " of a call that needs nothing";
    EXPECT_TRUE(code == out_of_memory_ || code == World::kReturnedNull) << "code " << code;
    EXPECT_STRNE(normgradGetLastError(), "") << "no sentence";
  }
  void expect(bool holds, const char* what) override { EXPECT_TRUE(holds) << what; }

 private:
  const int out_of_memory_;
  std::unique_ptr<FullRegistry> registry_;
  std::unique_ptr<FullDevice> device_;
};

void run(const Entry& entry, Trial& trial) {
  trial.failures = 0;
  World world(trial);
  entry.run(world);
}

class EveryCall : public testing::TestWithParam<Library> {
 protected:
  // Requests of a call that were made to fail.
  long exhaust(const Entry& entry, Resource resource, Mode mode, bool full_registry, long most) {
    long total = 0;
    for (long index = 0; index <= most; ++index) {
      SCOPED_TRACE(std::string(entry.function) + ": " + name(resource) + ", request " +
                   std::to_string(index) + (mode == Mode::kOnce ? ", once" : ", from then on") +
                   (full_registry ? ", no room for a handle" : ""));
      const long before = heap_pieces();
      Trial trial(GetParam().out_of_memory);
      trial.resource = resource;
      trial.mode = mode;
      trial.index = index;
      trial.full_registry = full_registry;
      run(entry, trial);
      EXPECT_EQ(heap_pieces(), before) << "something was lost";
      total += trial.failures;
      expect_to_work(entry);
      if (trial.failures == 0 || HasFailure()) break;
    }
    return total;
  }
  // How much a call asks for when nothing fails.
  long expect_to_work(const Entry& entry) {
    SCOPED_TRACE(entry.function);
    Trial trial(GetParam().out_of_memory);
    run(entry, trial);
    return trial.asked;
  }
};

TEST_P(EveryCall, HasAnEntry) {
  std::ifstream list(std::string(EXPORT_LISTS) + GetParam().exports);
  std::set<std::string> exported, called;
  for (std::string line; std::getline(list, line);) {
    const std::size_t begin = line.find_first_not_of(' '), end = line.find(';');
    if (line.substr(0, 4) == "    " && line[begin] != '*') {
      exported.insert(line.substr(begin, end - begin));
    }
  }
  for (const Entry& entry : GetParam().entries) called.insert(entry.function);
  EXPECT_EQ(called.size(), GetParam().entries.size()) << "a function has two entries";
  EXPECT_EQ(called, exported);
  totals().functions += called.size();
  std::printf("%s: %zu functions, each with an entry\n", GetParam().name, called.size());
}

TEST_P(EveryCall, AnswersWhenTheSystemHasNoMore) {
  for (const Entry& entry : GetParam().entries) {
    for (int i = 0; i < 2; ++i) expect_to_work(entry);  // tables have grown to their size
  }
  long total[std::size(kResources)] = {};
  for (const Resource resource : {Resource::kHeap, Resource::kThread, Resource::kMalloc}) {
    for (const Mode mode : kModes) {
      for (const Entry& entry : GetParam().entries) {
        total[static_cast<int>(resource)] += exhaust(entry, resource, mode, false, LONG_MAX);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
  std::printf("%s, %zu functions: %ld requests for memory, %ld for threads, %ld of malloc failed\n",
              GetParam().name, GetParam().entries.size(), total[0], total[2], total[3]);
  EXPECT_GT(total[0], 0);
  EXPECT_EQ(total[2] > 0, GetParam().starts_threads && is_async());
  totals().memory += total[0];
  totals().threads += total[2];
  totals().mallocs += total[3];
}

// The registry's growth would make it twice as large: it is never let happen.
TEST_P(EveryCall, AnswersWhenThereIsNoRoomForAHandle) {
  long total = 0;
  for (const Entry& entry : GetParam().entries) {
    expect_to_work(entry);
    const long own = expect_to_work(entry);
    total += exhaust(entry, Resource::kHeap, Mode::kFromThenOn, true, own + 1);
    ASSERT_FALSE(HasFailure());
  }
  std::printf("%s: %ld requests for memory failed\n", GetParam().name, total);
  EXPECT_GT(total, 0);
  totals().handles += total;
}

// Device memory asks for a mapping, and for a smaller one if that fails: request 0 fails, or both. A mapping that
// succeeds stays, and so do its books.
TEST_P(EveryCall, AnswersWhenNothingCanBeMapped) {
  long total = 0;
  for (const Mode mode : kModes) {
    for (const Entry& entry : GetParam().entries) {
      SCOPED_TRACE(entry.function);
      expect_to_work(entry);
      Trial trial(GetParam().out_of_memory);
      trial.resource = Resource::kMapping;
      trial.mode = mode;
      trial.index = 0;
      run(entry, trial);
      total += trial.failures;
      expect_to_work(entry);
      ASSERT_FALSE(HasFailure());
    }
  }
  std::printf("%s: %ld mappings failed\n", GetParam().name, total);
  EXPECT_EQ(total > 0, GetParam().maps);
  totals().mappings += total;
}

INSTANTIATE_TEST_SUITE_P(Libraries, EveryCall, testing::ValuesIn(libraries()),
                         [](const auto& library) { return std::string(library.param.name); });

}  // namespace
}  // namespace exhaustion
