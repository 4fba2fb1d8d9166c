// Whole arrays between f32 and the 16-bit types, through the loads and stores of the kernels.
#ifndef TESTS_OPS_CONVERT_H
#define TESTS_OPS_CONVERT_H

#include <cstddef>

#include "normgrad/settings.h"
#include "normgrad/tensor.h"

namespace normgrad::kernels {

void convert_to_f32(Isa isa, DataType dtype, const void* from, float* to, std::size_t count);
void convert_from_f32(Isa isa, DataType dtype, const float* from, void* to, std::size_t count);
// Two vectors at a time, as the kernels write: a NaN must have nothing in the lower half of its bits.
void convert_pairs_from_f32(Isa isa, DataType dtype, const float* from, void* to,
                            std::size_t count);

}  // namespace normgrad::kernels

#endif
