// Rows of numbers per column: parameters and their gradients, between a caller's types and the kernels' lanes.
#ifndef NORMGRAD_KERNELS_NUMBERS_H
#define NORMGRAD_KERNELS_NUMBERS_H

#include "kernels/target.h"

namespace normgrad::NORMGRAD_TARGET {

// Between the order of columns and that of lanes, a step of f32: groups of four stay together.
template <class T>
NORMGRAD_INLINE void columns_to_lanes(const float* columns, float* lanes) {
  if constexpr (!kSplitsLanes<float, T>) {
    std::memcpy(lanes, columns, kStep * sizeof(float));
  } else {
    NORMGRAD_UNROLL for (int c = 0; c < kStep; c += 4) {
      std::memcpy(lanes + kernels::lane_of(DataType::kBF16, c), columns + c, 4 * sizeof(float));
    }
  }
}
template <class T>
NORMGRAD_INLINE void lanes_to_columns(const float* lanes, float* columns) {
  if constexpr (!kSplitsLanes<float, T>) {
    std::memcpy(columns, lanes, kStep * sizeof(float));
  } else {
    NORMGRAD_UNROLL for (int c = 0; c < kStep; c += 4) {
      std::memcpy(columns + c, lanes + kernels::lane_of(DataType::kBF16, c), 4 * sizeof(float));
    }
  }
}

template <class T>
void load_numbers(const void* from, bool is_f32, std::int64_t columns, float* lanes) {
  const std::int64_t padded = kernels::padded(columns);
  if (padded != columns) std::memset(lanes + padded - kStep, 0, kStep * sizeof(float));
  if (is_f32 || std::is_same_v<T, float>) {
    for (std::int64_t c = 0; c < columns; c += kStep) {
      float step[kStep] = {};
      const std::int64_t count = columns - c < kStep ? columns - c : kStep;
      std::memcpy(step, static_cast<const float*>(from) + c, static_cast<std::size_t>(count) * 4);
      columns_to_lanes<T>(step, lanes + c);
    }
    return;
  }
  const T* data = static_cast<const T*>(from);
  for_row<float>(columns, [&](auto unit, std::int64_t column, auto part) NORMGRAD_LAMBDA {
    Vec<float> numbers[2];
    load_unit(data + column + unit * kUnit<float>, part, numbers[0], numbers[1]);
    store<float>(numbers[0], lanes + column + first_vector<float, T>(unit) * kWidth<float>);
    store<float>(numbers[1], lanes + column + second_vector<float, T>(unit) * kWidth<float>);
  });
}

// As kernels::round_to_odd; a NaN loses its payload (see rounded() in vectors.h).
NORMGRAD_INLINE Floats to_odd(const Doubles& v) {
  const Floats nearest = __builtin_convertvector(v, Floats);
  const Doubles back = __builtin_convertvector(nearest, Doubles);
  const LongWords magnitude = LongWords{} + 0x7FFFFFFFFFFFFFFF;
  const LongWords is_inexact = (back < v) | (back > v), is_nan = v != v;
  const LongWords is_away = ((LongWords)back & magnitude) > ((LongWords)v & magnitude);
  const Words inexact = __builtin_convertvector(is_inexact, Words);
  const Words away = __builtin_convertvector(is_away, Words);  // -1
  const Words nan = __builtin_convertvector(is_nan, Words);
  const Words bits = (Words)nearest;
  const Words rounded = (inexact & ((bits + away) | 1)) | (~inexact & bits);
  return (Floats)((~nan & rounded) | (nan & 0x7FC00000));
}
// A step of sums as f32, rounded to nearest, or to odd if they are to be rounded again.
template <bool kAgain>
NORMGRAD_INLINE void narrow_step(const double* sums, float* lanes) {
  NORMGRAD_UNROLL for (int i = 0; i < kStep; i += kDoubles) {
    const Doubles v = load_doubles(sums + i);
    const Floats narrow = kAgain ? to_odd(v) : __builtin_convertvector(v, Floats);
    std::memcpy(lanes + i, &narrow, sizeof(narrow));
  }
}

template <class T>
void store_sums(const double* sums, std::int64_t columns, bool is_f32, void* to) {
  for (std::int64_t c = 0; c < columns; c += kStep) {
    float lanes[kStep];
    const std::int64_t count = columns - c < kStep ? columns - c : kStep;
    if (is_f32 || std::is_same_v<T, float>) {
      float step[kStep];
      narrow_step<false>(sums + c, lanes);
      lanes_to_columns<T>(lanes, step);
      std::memcpy(static_cast<float*>(to) + c, step, static_cast<std::size_t>(count) * 4);
      continue;
    }
    narrow_step<true>(sums + c, lanes);
    for_row<float>(count, [&](auto unit, std::int64_t, auto part) NORMGRAD_LAMBDA {
      store_unit(load<float>(lanes + first_vector<float, T>(unit) * kWidth<float>),
                 load<float>(lanes + second_vector<float, T>(unit) * kWidth<float>),
                 static_cast<T*>(to) + c + unit * kUnit<float>, part);
    });
  }
}

// Rows of f64 sums, whole steps.
inline void clear(double* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kStep) {
    NORMGRAD_UNROLL for (int j = 0; j < kStep; j += kDoubles) {
      store_doubles(Doubles{}, numbers + i + j);
    }
  }
}
inline void add(const double* terms, double* sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kStep) {
    NORMGRAD_UNROLL for (int j = 0; j < kStep; j += kDoubles) {
      store_doubles(load_doubles(sums + i + j) + load_doubles(terms + i + j), sums + i + j);
    }
  }
}

// Copies past the cache.
inline void stream(const void* from, void* to, std::size_t bytes) {
#if defined(NORMGRAD_TARGET_AVX512) || defined(NORMGRAD_TARGET_AVX2)
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  const std::size_t misaligned = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  const std::size_t head = misaligned < bytes ? misaligned : bytes;
  if (head != 0) std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
#if defined(NORMGRAD_TARGET_AVX512)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(in + i));
#else
    const auto* half = reinterpret_cast<const __m256i*>(in + i);
    const __m256i first = _mm256_loadu_si256(half), second = _mm256_loadu_si256(half + 1);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), first);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i + 32), second);
#endif
  }
  if (i < bytes) std::memcpy(out + i, in + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace normgrad::NORMGRAD_TARGET

#endif
