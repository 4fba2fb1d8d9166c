// Generated cases: case `index` of an operator is a function of the master seed and nothing else.
#ifndef TESTS_OPS_CASES_H
#define TESTS_OPS_CASES_H

#include <string>

#include "ops/library.h"
#include "ops/values.h"

namespace ops_test {

struct Case {
  Problem problem;
  RunSettings settings;
  DataClass data_class = DataClass::kNormal;

  std::string description() const;
};

Case make_case(Op op, std::uint64_t master_seed, std::size_t index,
               Arithmetic arithmetic = Arithmetic::kFast);

// What there is to test: the backward operators in both arithmetics, the others once.
struct Way {
  Op op;
  Arithmetic arithmetic = Arithmetic::kFast;
};
std::vector<Way> ways();
std::string name(const Way& way);  // "rms_norm", "rms_norm_exact"

struct ChannelShape {
  std::vector<std::int64_t> shape;
  int axis;
};
ChannelShape channel_shape(Random& random);

// Some outputs unwanted, never all.
void drop_outputs(Random& random, Problem& problem);

// Layouts are random unless packed; values are not filled yet.
Problem make_row_problem(Random& random, Op op, Format data, std::vector<std::int64_t> shape);
Problem make_channel_problem(Random& random, Format data, std::vector<std::int64_t> shape,
                             int channel_axis);

// BatchNormBackward with its sums, SyncBatchNorm's second half, the forward; any mixture of dtypes,
// some outputs unwanted, never all.
Problem make_sync_problem(Random& random, Op op, Format data, std::vector<std::int64_t> shape,
                          int channel_axis);
Problem make_gather_problem(Random& random);

}  // namespace ops_test

#endif
