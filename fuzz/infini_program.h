// A program of InfiniOp and infinirt calls, and what they must answer.
#ifndef FUZZ_INFINI_PROGRAM_H
#define FUZZ_INFINI_PROGRAM_H

#include <map>

#include "slots.h"

namespace fuzz {

class InfiniProgram {
 public:
  explicit InfiniProgram(Bytes& bytes) : bytes_(bytes), slots_(bytes) {}

  void step();
  void end();  // releases what is left

 private:
  // The operators' descriptors come first: their numbers are those of the table of operators.
  enum class Kind { kRmsNorm, kLayerNorm, kBatchNorm, kHandle, kTensor, kEvent, kMemory };
  static constexpr std::size_t kKinds = 7, kCount = 7;

  void create_handle();
  void create_tensors();
  void create_tensor(std::size_t slot);
  void create_operator();
  void ask_size();
  void compute();
  void destroy();
  void event();
  void memory();

  Bytes& bytes_;
  Slots<Kind, kKinds, kCount> slots_;
  bool on_cpu_ = true;  // the current device
};

}  // namespace fuzz

#endif
