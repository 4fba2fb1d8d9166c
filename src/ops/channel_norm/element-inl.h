// What both walks of the channel norms share: the arguments, and one vector of a formula.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_ELEMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_ELEMENT_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_ELEMENT_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_ELEMENT_INL_H
#endif

#include "kernels/elementwise-inl.h"
#include "kernels/sums-inl.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/channel_norm/segment.h"
#include "ops/formulas-inl.h"

NORMGRAD_TARGET_BEGIN

// The numbers of a tile's channels, an array for each, so that the compiler computes several channels at once.
class ChannelMaps {
 public:
  ChannelMap<double> operator[](std::int64_t i) const {
    return {mean_[i], mean_low_[i], scale_[i], c1_[i], c2_[i]};
  }
  NORMGRAD_ALWAYS void set(std::int64_t i, const ChannelMap<double>& map) {
    mean_[i] = map.mean;
    mean_low_[i] = map.mean_low;
    scale_[i] = map.scale;
    c1_[i] = map.c1;
    c2_[i] = map.c2;
  }

 private:
  double mean_[kChannelTile], mean_low_[kChannelTile], scale_[kChannelTile];
  double c1_[kChannelTile], c2_[kChannelTile];
};

// The type a sum's terms are computed in.
template <class F, typename T>
using TermArithmetic = std::conditional_t<F::kInF64, double, Arithmetic<T>>;

// The part of the mean that arithmetic type A has lost.
template <typename A>
inline double low_of_mean(const ChannelMap<double>& map) {
  return std::is_same_v<A, double> ? map.mean_low : low_part<A>(map.mean);
}

// body(whether x - mean takes two subtractions), for a mean that has a low part or not. No code is made for what cannot
// be: in f64, only a mean that was computed here has a low part.
template <class F, typename A, class Body>
inline NORMGRAD_ALWAYS void with_split(bool has_low, Body&& body) {
  if constexpr (F::kHasRest) {
    body(std::true_type());
  } else if constexpr (!F::kCentres || std::is_same_v<A, double>) {
    body(std::false_type());
  } else if (has_low) {
    body(std::true_type());
  } else {
    body(std::false_type());
  }
}

// F of the vectors at dy and x. kSplit: the mean has a low part.
template <class F, bool kSplit, typename A, typename T, class Step>
inline NORMGRAD_ALWAYS auto value_of(const T* dy, const T* x, const ChannelMap<Vec<A>>& map,
                                     Step step) {
  Vec<A> dy_vector = map.mean, x_vector = map.mean;
  if constexpr (F::kReadsDy) dy_vector = load<A>(dy, step);
  if constexpr (F::kReadsX) x_vector = load<A>(x, step);
  if constexpr (F::kReadsX && F::kCentres) {
    x_vector = kSplit ? centred(x_vector, map.mean, map.mean_low) : minus(x_vector, map.mean);
  }
  return F::value(dy_vector, x_vector, map);
}

// body(segment) for every segment of a span.
template <class Body>
inline NORMGRAD_ALWAYS void each_segment(const ChannelSplit& split, std::int64_t channel, Span span,
                                         Body&& body) {
  std::int64_t n = span.begin / split.l;
  std::int64_t l = span.begin % split.l;
  for (std::int64_t left = span.end - span.begin; left > 0; ++n, l = 0) {
    const std::int64_t count = std::min(split.l - l, left);
    body(Segment{n, channel, l, count});
    left -= count;
  }
}

NORMGRAD_TARGET_END
#endif
