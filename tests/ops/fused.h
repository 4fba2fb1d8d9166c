// Row norms that are fused with what comes before and after them, taken apart: x = x + alpha*x2 + x_bias and dy*(1 + scale) come
// first, scale, shift, dsum and further outputs last. Between them lies an ordinary problem in the kernels' own numbers.
#ifndef TESTS_OPS_FUSED_H
#define TESTS_OPS_FUSED_H

#include "ops/check.h"

namespace ops_test {

// Whether the library's kernels cannot walk the tensors as they lie: then their numbers are those of f32.
bool is_packed(const Problem& problem);

// The problem between, in f32 (fast) or f64. Its dx and y are f32 or f64, too.
Problem without_fusion(const Problem& problem, Arithmetic arithmetic);

// What is expected of all outputs; `between`: of without_fusion(problem).
void add_fusion(const Problem& problem, ExpectedOutputs& between);
// And the bits of the model.
Outputs fused_model(const Problem& problem, Arithmetic arithmetic);

// An element of a tensor that has less dims than the data, for element i of the data.
double spread_value(const Problem& problem, Slot slot, std::size_t i);
// x + alpha*x2 + x_bias, in numbers of the arithmetic.
Values summed_x(const Problem& problem, Arithmetic arithmetic);

}  // namespace ops_test

#endif
