// The eight aclnn operators by number: their tensors, and their two phases.
#ifndef FUZZ_ACLNN_PHASES_H
#define FUZZ_ACLNN_PHASES_H

#include <aclnn/acl_meta.h>

#include <cstdint>
#include <vector>

namespace fuzz::aclnn {

enum class Api {
  kBatchNorm,
  kBackward,
  kFastBackward,
  kReduce,
  kElemtBackward,
  kStats,
  kGather,
  kElemt
};
// kRows: (W, C). kCounts: (W). kCounter: anything.
enum class Form { kData, kChannels, kRows, kCounts, kCounter };
struct Argument {
  Form form;
  bool output;
  bool required;
};
// In the order of the prototypes, numbers and flags left out. Whether an output is required may depend on a flag.
std::vector<Argument> arguments(Api api);

struct Flags {
  bool training;
  std::vector<bool> wanted;  // the three of the reduction
  const aclBoolArray* mask;  // of the backward operators
};

int first_phase(Api api, const std::vector<aclTensor*>& tensors, const Flags& flags,
                std::uint64_t* size, aclOpExecutor** made);
int second_phase(Api api, void* workspace, std::uint64_t size, aclOpExecutor* made, void* stream);

}  // namespace fuzz::aclnn

#endif
