// A program of ACL runtime and aclnn calls, and what they must answer.
#ifndef FUZZ_ACL_PROGRAM_H
#define FUZZ_ACL_PROGRAM_H

#include <map>
#include <set>

#include "aclnn_phases.h"
#include "slots.h"

namespace fuzz {

class AclProgram {
 public:
  explicit AclProgram(Bytes& bytes);

  void step();
  void end();  // releases what is left

 private:
  enum class Kind { kStream, kEvent, kTensor, kExecutor, kMemory, kMask, kContext };
  static constexpr std::size_t kKinds = 7, kTensors = 13;
  struct Executor {
    aclnn::Api api;
    bool repeatable = false;
    std::uint64_t workspace = 0;
    bool moved = false;  // an argument is a tensor out of another slot, with its memory
  };

  // One of the first slots, for a call that wants this kind.
  void* pick(Kind kind) { return slots_.pick(kind, bytes_.below(kFew)); }
  void put(Kind kind, void* handle) { slots_.put(kind, bytes_.below(kFew), handle); }

  bool has_context() const { return current_ != nullptr; }
  int in_context() const;             // what a call answers that needs a context and nothing else
  int on_stream(void* handle) const;  // what a call that takes a stream answers for it
  bool is_stream(void* handle) const;
  bool is_of_current(void* handle) const;
  int on_event(void* handle) const;
  int on_context(void* handle) const;
  // Of a call that waits for work: it may answer with the failure of a copy that came after its memory was freed. True:
  // it was not refused.
  bool waited(const char* call, int code, int expected);

  void enter_context(void* handle);  // which is the current one
  void lose(void* handle);           // a stream or an event
  void lose_context(void* handle);
  void lose_everything();

  void begin_or_end();
  void device();
  void context();
  void create_stream();
  void use_stream();
  void use_event();
  void memory();
  void copy();
  int on_copy(void* stream, std::initializer_list<void*> addresses, std::size_t count) const;
  bool was_memory(void* address) const { return address == nullptr || given_.contains(address); }
  bool is_inside(void* address, std::size_t count) const;
  void tensor();
  void create_tensor(std::size_t slot);
  void mask();
  void first_phase();
  void second_phase();
  void use_executor();

  static constexpr std::size_t kFew = 3;
  Bytes& bytes_;
  Slots<Kind, kKinds, kTensors> slots_;
  std::map<void*, Executor> executors_;
  std::set<void*> moved_;  // tensors that an executor has given another tensor's memory
  std::uint64_t initializations_ = 0;
  bool finalized_ = true;
  int references_ = 0;                     // of the device
  void* primary_ = nullptr;                // its default context
  void* current_ = nullptr;                // the thread's context
  std::map<void*, void*> default_stream_;  // by context
  std::map<void*, void*> owner_;           // contexts by stream and event
  std::map<void*, std::uint64_t> masks_;   // their lengths
  std::map<void*, std::size_t> bytes_of_;  // of memory that is alive
  std::set<void*> given_;                  // every address that ever was memory
  bool pending_ = false;                   // a copy may be still to be done
  bool late_ = false;                      // memory was freed meanwhile
};

}  // namespace fuzz

#endif
