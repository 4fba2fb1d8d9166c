// The vector layer of the fast kernels (src/kernels/vectors.h), array by array, once per target.
#ifndef TESTS_KERNELS_LANES_H
#define TESTS_KERNELS_LANES_H

#include <cstddef>

#include "normgrad/settings.h"
#include "normgrad/tensor.h"

namespace kernels_test {

// Elements are f16, bf16 or f32. `count` of the first three is a multiple of 32.
struct Layer {
  const char* name;
  normgrad::Isa isa;  // that it needs
  int unit;           // elements of a unit
  void (*decode)(normgrad::DataType, const void* from, float* to, std::size_t count);
  void (*encode)(normgrad::DataType, const float* from, void* to, std::size_t count);
  void (*multiply_add)(const float* a, const float* b, const float* c, float* out,
                       std::size_t count);
  // Between the first `count` elements in memory and all numbers of a unit, in the same order.
  void (*load_first)(normgrad::DataType, const void* from, int count, float* numbers);
  void (*store_first)(normgrad::DataType, const float* numbers, void* to, int count);
};

}  // namespace kernels_test

namespace normgrad {
namespace plain {
extern const kernels_test::Layer kLayer;
}
namespace avx2 {
extern const kernels_test::Layer kLayer;
}
namespace avx512 {
extern const kernels_test::Layer kLayer;
}
namespace neon {
extern const kernels_test::Layer kLayer;
}
}  // namespace normgrad

#endif
