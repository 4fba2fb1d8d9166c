// Small calls of all aclnn operators, and what they give when nothing else runs.
#ifndef TESTS_ACLNN_SERIAL_RUN_H
#define TESTS_ACLNN_SERIAL_RUN_H

#include <memory>
#include <vector>

#include "aclnn/call.h"

namespace aclnn_test {

// A call that can be made again, and its outputs.
struct Expectation {
  std::unique_ptr<Call> call;
  Outputs outputs;

  // After the call has been made again and its stream synchronized: "" if the bits are the same.
  std::string difference() const;
};

// All operators in turn, `count` calls. This thread has a device, whose default stream is used.
std::vector<Expectation> small_calls(std::uint64_t seed, std::size_t count);

}  // namespace aclnn_test

#endif
