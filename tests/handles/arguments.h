// Every argument of the C libraries that is a handle, and one live handle of every kind.
#ifndef TESTS_HANDLES_ARGUMENTS_H
#define TESTS_HANDLES_ARGUMENTS_H

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calls/world.h"

namespace handles {

enum class Kind {
  kInfiniHandle,
  kInfiniTensor,
  kRmsNorm,
  kLayerNorm,
  kBatchNorm,
  kInfiniEvent,
  kStream,
  kEvent,
  kContext,
  kMemory,
  kPinned,
  kBuffer,
  kTensor,
  kScalar,
  kInts,
  kFloats,
  kBools,
  kTensorList,
  kScalarList,
  kExecutor,
  kRepeatable,
};
inline constexpr int kKinds = static_cast<int>(Kind::kRepeatable) + 1;

class Expectations : public calls::Watch {
 public:
  void begin() override {}
  void end(int, calls::May) override {}
  void expect(bool holds, const char* what) override;
};

// A live handle of every kind. That none of them was harmed shows when they are destroyed.
struct Zoo {
  Zoo();
  ~Zoo();
  Zoo(const Zoo&) = delete;
  Zoo& operator=(const Zoo&) = delete;

  void* live(Kind kind);
  // One that was destroyed just now.
  void* dead(Kind kind);

  // What the calls of `key` need beside the handle, made once: before something is destroyed whose address it could get.
  template <class T, class Make>
  T& kept(const void* key, Make&& make) {
    std::shared_ptr<void>& place = kept_[key];
    if (place == nullptr) place = make();
    return *static_cast<T*>(place.get());
  }

  Expectations watch;
  calls::World world{watch};
  aclrtContext own = nullptr, context = nullptr;
  aclScalar* scalar = nullptr;
  aclTensorList* tensors = nullptr;
  aclScalarList* scalars = nullptr;
  aclOpExecutor *executor = nullptr, *repeatable = nullptr;
  std::uint64_t size = 0;

 private:
  std::map<const void*, std::shared_ptr<void>> kept_;
};

struct Argument {
  std::string function, name;
  std::set<Kind> kinds;  // that it may be of; none: only null is right
  int dead;              // the answer to all others; 0: it is not looked at
  std::optional<int>
      null;  // to null; nothing: that is a good argument, or the call needs more than it
  std::function<int(Zoo&, void*)> call;
};

std::vector<Argument> infini_arguments();
std::vector<Argument> acl_arguments();
std::vector<Argument> aclnn_arguments();

template <class T>
T* as(void* handle) {
  return static_cast<T*>(handle);
}

}  // namespace handles

#endif
