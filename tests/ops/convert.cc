#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convert.cc"
#include "ops/convert.h"

#include "kernels/target-inl.h"
// Behind it, as it is compiled per instruction set.
#include "kernels/elementwise-inl.h"

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

// What a step of elementwise() takes of f32 numbers.
template <class Step>
inline NORMGRAD_ALWAYS Vec<float> taken(const float* from, Step step) {
  return load<float>(from, step);
}
template <int kOdd>
inline NORMGRAD_ALWAYS Vec<float> taken(const float* from, Alternate<kOdd>) {
  return taken(from, AlternatePart<kOdd>{2 * kWidth<float>});
}
template <int kOdd>
inline NORMGRAD_ALWAYS Vec<float> taken(const float* from, AlternatePart<kOdd> part) {
  float lane[kWidth<float>] = {};
  for (std::int64_t j = 0; 2 * j + kOdd < part.count; ++j) lane[j] = from[2 * j + kOdd];
  return load<float>(lane);
}
template <typename T>
void narrow_pairs_to(const float* from, T* to, std::size_t count) {
  elementwise_by<Stores::kCached, float>(static_cast<std::int64_t>(count), to,
                                         [&](std::int64_t i, auto step)
                                             NORMGRAD_INLINE { return taken(from + i, step); });
}
void narrow_pairs(DataType dtype, const float* from, void* to, std::size_t count) {
  if (dtype == DataType::kF16) return narrow_pairs_to(from, static_cast<Half*>(to), count);
  narrow_pairs_to(from, static_cast<BFloat*>(to), count);
}

NORMGRAD_TARGET_END
NORMGRAD_CHOOSER(widen_array)
NORMGRAD_CHOOSER(narrow_array)
NORMGRAD_CHOOSER(narrow_pairs)

#if NORMGRAD_PLAIN && !NORMGRAD_HIGHWAY
namespace normgrad {

auto choose_widen_array(Isa) { return &plain::widen_array; }
auto choose_narrow_array(Isa) { return &plain::narrow_array; }
auto choose_narrow_pairs(Isa) { return &plain::narrow_pairs; }

}  // namespace normgrad
#endif

#if (NORMGRAD_PLAIN && !NORMGRAD_HIGHWAY) || (!NORMGRAD_PLAIN && HWY_ONCE)
namespace normgrad::kernels {

void convert_to_f32(Isa isa, DataType dtype, const void* from, float* to, std::size_t count) {
  choose_widen_array(isa)(dtype, from, to, count);
}
void convert_from_f32(Isa isa, DataType dtype, const float* from, void* to, std::size_t count) {
  choose_narrow_array(isa)(dtype, from, to, count);
}
void convert_pairs_from_f32(Isa isa, DataType dtype, const float* from, void* to,
                            std::size_t count) {
  choose_narrow_pairs(isa)(dtype, from, to, count);
}

}  // namespace normgrad::kernels
#endif
