// One call of an InfiniOp operator with memory of its own: any number of them share a descriptor.
#ifndef TESTS_CONCURRENCY_INFINIOP_CALL_H
#define TESTS_CONCURRENCY_INFINIOP_CALL_H

#include <cstddef>
#include <string>
#include <vector>

#include "api/operators.h"

namespace concurrency_test {

inline const std::vector<std::size_t> kSmallShape{6, 5, 16};
inline const std::vector<std::size_t> kLargeShape{128, 8, 80};  // worth a team of threads
inline const std::vector<std::vector<std::size_t>> kShapes{kSmallShape, kLargeShape};

class InfiniopCall {
 public:
  // Values of f32 data follow from the seed.
  InfiniopCall(const api_test::Operator& op, const std::vector<std::size_t>& shape, unsigned seed);

  infiniStatus_t run(InfiniopDescriptor* descriptor, std::size_t workspace_bytes);
  // Remembers what the last run gave; after another one, whether that gave the same bits.
  void expect_this() { expected_ = outputs(); }
  bool is_as_expected() const { return outputs() == expected_; }
  void forget_outputs();

 private:
  using Floats = std::vector<float>;
  std::vector<Floats> outputs() const;

  const api_test::Operator& op_;
  std::vector<Floats> tensors_;  // of the arguments
  std::vector<std::byte> workspace_;
  std::vector<Floats> expected_;
};

}  // namespace concurrency_test

#endif
