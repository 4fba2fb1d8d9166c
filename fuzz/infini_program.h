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
  enum class Kind { kHandle, kTensor, kRmsNorm, kLayerNorm, kEvent, kMemory };
  static constexpr std::size_t kKinds = 6, kCount = 5;

  void create_handle();
  void create_tensor();
  void create_rms_norm();
  void create_layer_norm();
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
