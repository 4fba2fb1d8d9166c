#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convert.cc"
#include "ops/convert.h"

#include "cpu/target-inl.h"
#include "cpu/steps-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T, typename U>
void convert_array(const T* from, U* to, std::size_t count) {
  for_vectors<float>(static_cast<std::int64_t>(count),
                     [&](std::int64_t i, auto step)
                         NORMGRAD_INLINE { store(load<float>(from + i, step), to + i, step); });
}

void widen_array(DataType dtype, const void* from, float* to, std::size_t count) {
  if (dtype == DataType::kF16) return convert_array(static_cast<const Half*>(from), to, count);
  convert_array(static_cast<const BFloat*>(from), to, count);
}

void narrow_array(DataType dtype, const float* from, void* to, std::size_t count) {
  if (dtype == DataType::kF16) return convert_array(from, static_cast<Half*>(to), count);
  convert_array(from, static_cast<BFloat*>(to), count);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(widen_array)
NORMGRAD_CHOOSER(narrow_array)

#if NORMGRAD_PLAIN && !NORMGRAD_HIGHWAY
namespace normgrad {

auto choose_widen_array(Isa) { return &plain::widen_array; }
auto choose_narrow_array(Isa) { return &plain::narrow_array; }

}  // namespace normgrad
#endif

#if (NORMGRAD_PLAIN && !NORMGRAD_HIGHWAY) || (!NORMGRAD_PLAIN && HWY_ONCE)
namespace normgrad::cpu {

void convert_to_f32(Isa isa, DataType dtype, const void* from, float* to, std::size_t count) {
  choose_widen_array(isa)(dtype, from, to, count);
}
void convert_from_f32(Isa isa, DataType dtype, const float* from, void* to, std::size_t count) {
  choose_narrow_array(isa)(dtype, from, to, count);
}

}  // namespace normgrad::cpu
#endif
