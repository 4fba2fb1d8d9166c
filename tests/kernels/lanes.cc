// Compiled once per target, as src/kernels/set.cc is, and for the same reason without functions of
// other headers.
#include "kernels/lanes.h"

#include "kernels/vectors.h"

namespace normgrad::NORMGRAD_TARGET {
namespace {

template <class T>
inline constexpr DataType kType = std::is_same_v<T, Half>     ? DataType::kF16
                                  : std::is_same_v<T, BFloat> ? DataType::kBF16
                                                              : DataType::kF32;

// Numbers of a step in the order of lanes, from and to that of elements: lane_of() keeps groups of
// four together.
template <class T>
void order_lanes(const float* elements, float* lanes, int count) {
  for (int i = 0; i < count; i += 4) {
    std::memcpy(lanes + kernels::lane_of(kType<T>, i), elements + i, 4 * sizeof(float));
  }
}
template <class T>
void order_elements(const float* lanes, float* elements, int count) {
  for (int i = 0; i < count; i += 4) {
    std::memcpy(elements + i, lanes + kernels::lane_of(kType<T>, i), 4 * sizeof(float));
  }
}

// One unit between memory and the lanes of its step.
template <class T, class Part>
void load_lanes(const T* from, int unit, Part part, float* lanes) {
  Vec<float> a, b;
  load_unit(from, part, a, b);
  store<float>(a, lanes + first_vector<float, T>(unit) * kWidth<float>);
  store<float>(b, lanes + second_vector<float, T>(unit) * kWidth<float>);
}
template <class T, class Part>
void store_lanes(const float* lanes, int unit, Part part, T* to) {
  const Vec<float> a = load<float>(lanes + first_vector<float, T>(unit) * kWidth<float>);
  const Vec<float> b = load<float>(lanes + second_vector<float, T>(unit) * kWidth<float>);
  store_unit(a, b, to, part);
}

template <class T>
void decode_as(const T* from, float* to, std::size_t count) {
  for (std::size_t step = 0; step < count; step += kStep) {
    float lanes[kStep];
    for (int unit = 0; unit < kVectors<float> / 2; ++unit) {
      load_lanes(from + step + unit * kUnit<float>, unit, Whole(), lanes);
    }
    order_elements<T>(lanes, to + step, kStep);
  }
}
template <class T>
void encode_as(const float* from, T* to, std::size_t count) {
  for (std::size_t step = 0; step < count; step += kStep) {
    float lanes[kStep];
    order_lanes<T>(from + step, lanes, kStep);
    for (int unit = 0; unit < kVectors<float> / 2; ++unit) {
      store_lanes(lanes, unit, Whole(), to + step + unit * kUnit<float>);
    }
  }
}
template <class T>
void load_first_as(const T* from, int count, float* numbers) {
  float lanes[kStep];
  load_lanes(from, 0, First{count}, lanes);
  order_elements<T>(lanes, numbers, kUnit<float>);
}
template <class T>
void store_first_as(const float* numbers, T* to, int count) {
  float lanes[kStep];
  order_lanes<T>(numbers, lanes, kUnit<float>);
  store_lanes(lanes, 0, First{count}, to);
}

void decode(DataType type, const void* from, float* to, std::size_t count) {
  if (type == DataType::kF16) return decode_as(static_cast<const Half*>(from), to, count);
  if (type == DataType::kBF16) return decode_as(static_cast<const BFloat*>(from), to, count);
  decode_as(static_cast<const float*>(from), to, count);
}
void encode(DataType type, const float* from, void* to, std::size_t count) {
  if (type == DataType::kF16) return encode_as(from, static_cast<Half*>(to), count);
  if (type == DataType::kBF16) return encode_as(from, static_cast<BFloat*>(to), count);
  encode_as(from, static_cast<float*>(to), count);
}
void load_first(DataType type, const void* from, int count, float* numbers) {
  if (type == DataType::kF16) return load_first_as(static_cast<const Half*>(from), count, numbers);
  if (type == DataType::kBF16) {
    return load_first_as(static_cast<const BFloat*>(from), count, numbers);
  }
  load_first_as(static_cast<const float*>(from), count, numbers);
}
void store_first(DataType type, const float* numbers, void* to, int count) {
  if (type == DataType::kF16) return store_first_as(numbers, static_cast<Half*>(to), count);
  if (type == DataType::kBF16) return store_first_as(numbers, static_cast<BFloat*>(to), count);
  store_first_as(numbers, static_cast<float*>(to), count);
}

void multiply_add_all(const float* a, const float* b, const float* c, float* out,
                      std::size_t count) {
  for (std::size_t i = 0; i < count; i += kWidth<float>) {
    store<float>(multiply_add(load<float>(a + i), load<float>(b + i), load<float>(c + i)), out + i);
  }
}

#if defined(NORMGRAD_TARGET_AVX512)
constexpr char kName[] = "avx512";
constexpr Isa kIsa = Isa::kAvx512;
#elif defined(NORMGRAD_TARGET_AVX2)
constexpr char kName[] = "avx2";
constexpr Isa kIsa = Isa::kAvx2;
#elif defined(NORMGRAD_TARGET_NEON)
constexpr char kName[] = "neon";
constexpr Isa kIsa = Isa::kBaseline;
#else
constexpr char kName[] = "plain";
constexpr Isa kIsa = Isa::kPlain;
#endif

}  // namespace

const kernels_test::Layer kLayer = {
    kName, kIsa, kUnit<float>, decode, encode, multiply_add_all, load_first, store_first};

}  // namespace normgrad::NORMGRAD_TARGET
