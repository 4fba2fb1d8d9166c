// A program of ACL runtime and aclnn calls, and what they must answer.
#ifndef FUZZ_ACL_PROGRAM_H
#define FUZZ_ACL_PROGRAM_H

#include <map>
#include <set>

#include "slots.h"

namespace fuzz {

class AclProgram {
 public:
  explicit AclProgram(Bytes& bytes);

  void step();
  void end();  // releases what is left

 private:
  enum class Kind { kStream, kEvent, kTensor, kExecutor, kMemory, kMask };
  static constexpr std::size_t kKinds = 6, kCount = 8;
  struct Executor {
    bool stats;  // of aclnnBatchNormStats, else of aclnnBatchNormReduceBackward
    bool repeatable = false;
    std::uint64_t workspace = 0;
    bool moved = false;  // an argument is a tensor out of another slot, with its memory
  };

  bool has_context() const { return references_ > 0; }
  void lose_device();
  int on_stream(void* handle) const;  // what a call that takes a stream answers for it
  bool is_stream(void* handle) const;
  int on_event(void* handle) const;

  void begin_or_end();
  void device();
  void create_stream();
  void use_stream();
  void use_event();
  void memory();
  void tensor();
  void mask();
  void first_phase();
  void second_phase();
  void use_executor();

  Bytes& bytes_;
  Slots<Kind, kKinds, kCount> slots_;
  std::map<void*, Executor> executors_;
  std::set<void*> moved_;  // tensors that an executor has given another tensor's memory
  std::uint64_t initializations_ = 0;
  bool finalized_ = true;
  int references_ = 0;  // of the device
  void* default_stream_ = nullptr;
};

}  // namespace fuzz

#endif
