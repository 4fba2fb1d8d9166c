// Every exported function of the C libraries, called once in a valid way. Who runs the calls watches them: a test makes
// the system run out of something meanwhile (tests/exhaustion), the soak only counts.
#ifndef TESTS_CALLS_WORLD_H
#define TESTS_CALLS_WORLD_H

#include <acl/acl.h>
#include <aclnn/aclnn_base.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "infiniop.h"
#include "infinirt.h"

namespace calls {

// What may come of a call when there is no memory, mapping or thread to be had.
enum class May { kFail, kNotFail };

class Watch {
 public:
  virtual ~Watch() = default;
  virtual void begin() = 0;                  // of the one call that an entry is about
  virtual void end(int code, May what) = 0;  // of that call
  virtual void expect(bool holds, const char* what) = 0;
  virtual std::size_t device_bytes() { return 256; }  // that the entries of memory ask for
};

// What calls need, all alive, made for one thread. An entry leaves it as it was, or takes what it ends out of it.
class World {
 public:
  explicit World(Watch& watch);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The call; true if it succeeded.
  template <class Body>
  bool call(May may, Body&& body) {
    watch_.begin();
    const int code = body();
    watch_.end(code, may);
    return code == 0;
  }
  template <class Body>
  bool may_fail(Body&& body) {
    return call(May::kFail, body);
  }
  template <class Body>
  void succeeds(Body&& body) {
    call(May::kNotFail, body);
  }
  // A call that answers `code`, which is no failure of memory.
  template <class Body>
  void answers(int code, Body&& body) {
    call(May::kNotFail, [&] { return body() == code ? 0 : 1; });
  }

  // create(&made), then destroy(made); a failure leaves what was there.
  template <class T, class Create, class Destroy>
  void makes(Create&& create, Destroy&& destroy) {
    T* const before = reinterpret_cast<T*>(this);
    T* made = before;
    if (may_fail([&] { return create(&made); })) {
      must(destroy(made));
    } else {
      watch_.expect(made == before, "a failed call wrote a handle");
    }
  }
  // The same for what returns a handle, or null.
  template <class Create, class Destroy>
  void returns(Create&& create, Destroy&& destroy) {
    decltype(create()) made = nullptr;
    const auto code = [&] {
      made = create();
      return made != nullptr ? 0 : kReturnedNull;
    };
    if (may_fail(code)) must(destroy(made));
  }
  static constexpr int kReturnedNull = -1;

  // Beside the call itself.
  void must(int code) { watch_.expect(code == 0, "what surrounds the call failed"); }
  std::size_t device_bytes() { return watch_.device_bytes(); }

  // Phase 1 of aclnnBatchNormStats.
  aclOpExecutor* executor(std::uint64_t* size);
  // The streams and events are gone, or must go.
  void forget_acl();
  // All work is done, whatever came of it.
  void settle();

  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t data = nullptr, vector = nullptr, per_row = nullptr;
  InfiniopDescriptor *rms_norm = nullptr, *layer_norm = nullptr, *batch_norm = nullptr;
  infinirtEvent_t infini_event = nullptr;

  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;  // recorded and complete
  void* memory = nullptr;      // 256 bytes of device memory
  void* pinned = nullptr;      // 256 bytes of aclrtMallocHost
  aclTensor* tensor = nullptr;
  aclTensor *dy = nullptr, *x = nullptr, *dx = nullptr;  // 2 x 3 x 4
  aclTensor* channel[8] = {};                            // 3
  aclTensor *rows[2] = {}, *counts = nullptr;            // 2 x 3, 2
  aclBoolArray* mask = nullptr;
  aclIntArray* ints = nullptr;
  aclFloatArray* floats = nullptr;
  aclDataBuffer* buffer = nullptr;

  float values[16][64] = {};
  alignas(64) std::uint8_t workspace[1 << 14] = {};

 private:
  void make_infini();
  void make_acl();
  void make_aclnn();
  aclTensor* new_tensor(std::initializer_list<std::int64_t> shape, int place);

  Watch& watch_;
  bool acl_lives_ = true;
};

struct Entry {
  std::string function;
  std::function<void(World&)> run;
  bool of_process = false;  // ends what other threads use
};
std::vector<Entry> infinirt_calls();
std::vector<Entry> infiniop_calls();
std::vector<Entry> device_calls();
std::vector<Entry> stream_calls();
std::vector<Entry> memory_calls();
std::vector<Entry> nnopbase_calls();
std::vector<Entry> opapi_nn_calls();
std::vector<Entry> all_calls();

}  // namespace calls

#endif
