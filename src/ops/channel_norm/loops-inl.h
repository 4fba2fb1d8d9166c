// The loops of the channel norms, for an element type T. A channel is walked in chunks
// (channel_norm.h), a chunk in segments: consecutive l of one n. A segment that does not lie
// together in memory is packed first.
#if defined(NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#endif

#include <algorithm>

#include "cpu/elementwise-inl.h"
#include "cpu/parallel_for.h"
#include "cpu/sums-inl.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/channel_norm/parameters.h"
#include "ops/channel_norm/partials.h"
#include "ops/channel_norm/segment.h"
#include "ops/formulas-inl.h"

NORMGRAD_TARGET_BEGIN

template <typename T>
class ChannelLoops {
 public:
  using A = Arithmetic<T>;

  ChannelLoops(const ChannelSplit& split, void* const* data) : split_(split), data_(data) {}

  std::int64_t chunks() const { return split_.n_chunks * split_.l_chunks; }
  std::int64_t elements() const { return split_.channels * split_.n * split_.l; }

  // body(channel, chunk) for all of them, on any thread.
  template <class Body>
  void each_chunk(Body&& body) const {
    cpu::parallel_for(split_.channels * chunks(), elements(), [&](std::int64_t task) NORMGRAD_ATTR {
      body(task / chunks(), task % chunks());
    });
  }

  // sum(dy), sum(dy*(x - mean)) over one chunk of a channel.
  std::array<double, 2> chunk_sums(int dy, int x, std::int64_t channel, std::int64_t chunk,
                                   double mean) const {
    Sums<A, 2> sums;
    const Mean m = split(mean);
    each_segment(channel, chunk, [&](const Segment& segment) NORMGRAD_INLINE {
      T dy_pack[kChannelChunk];
      T x_pack[kChannelChunk];
      const T* g = packed(dy, segment, dy_pack);
      const T* v = packed(x, segment, x_pack);
      if (m.is_split) {
        sums.walk(segment.count, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
          return batch_norm_terms(load<A>(g + i, step),
                                  centred(load<A>(v + i, step), m.high, m.low));
        });
      } else {
        sums.walk(segment.count, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
          return batch_norm_terms(load<A>(g + i, step), load<A>(v + i, step) - m.high);
        });
      }
    });
    return sums.finish();
  }

  // sum(x) over one chunk of a channel, in f64 for every data type.
  std::array<double, 1> chunk_sum(int x, std::int64_t channel, std::int64_t chunk) const {
    return statistics_sum(x, channel, chunk, [](Vec<double> v) NORMGRAD_INLINE { return v; });
  }
  // sum((x - mean)^2), likewise.
  std::array<double, 1> chunk_sum_of_squares(int x, std::int64_t channel, std::int64_t chunk,
                                             double mean) const {
    const Vec<double> m = all(mean);
    return statistics_sum(x, channel, chunk,
                          [&](Vec<double> v) NORMGRAD_INLINE { return (v - m) * (v - m); });
  }

  // chunk_sums(chunk) added up over all chunks of a channel.
  template <int K, class ChunkSums>
  std::array<double, K> add_chunks(ChunkSums&& chunk_sums) const {
    cpu::Pairwise<K> sums;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) sums.add(chunk_sums(chunk));
    return sums.finish();
  }

  // dx of one chunk of a channel.
  template <bool kTraining>
  void write_dx(int dx, int dy, int x, std::int64_t channel, std::int64_t chunk, double mean,
                const ChannelMap<double>& given, Stores stores) const {
    const Mean m = split(mean);
    const ChannelMap<Vec<A>> map{all(static_cast<A>(given.scale)), all(static_cast<A>(given.c1)),
                                 all(static_cast<A>(given.c2))};
    write_segments(
        dx, channel, chunk, stores, [&](const Segment& segment, auto&& put) NORMGRAD_INLINE {
          T dy_pack[kChannelChunk];
          T x_pack[kChannelChunk];
          const T* g = packed(dy, segment, dy_pack);
          const T* v = kTraining ? packed(x, segment, x_pack) : nullptr;
          if constexpr (!kTraining) {
            put([&](std::int64_t i, auto step)
                    NORMGRAD_INLINE { return batch_norm_inference_dx(load<A>(g + i, step), map); });
          } else if (m.is_split) {
            put([&](std::int64_t i, auto step) NORMGRAD_INLINE {
              const Vec<A> x_mu = centred(load<A>(v + i, step), m.high, m.low);
              return batch_norm_training_dx(load<A>(g + i, step), x_mu, map);
            });
          } else {
            put([&](std::int64_t i, auto step) NORMGRAD_INLINE {
              return batch_norm_training_dx(load<A>(g + i, step), load<A>(v + i, step) - m.high,
                                            map);
            });
          }
        });
  }

  // y of one chunk of a channel. `rest`: what rounding left of the mean.
  void write_y(int y, int x, std::int64_t channel, std::int64_t chunk, double mean, double rest,
               const ForwardMap<double>& given, Stores stores) const {
    const Mean m = split(mean, rest);
    const ForwardMap<Vec<A>> map{all(static_cast<A>(given.scale)), all(static_cast<A>(given.b))};
    write_segments(
        y, channel, chunk, stores, [&](const Segment& segment, auto&& put) NORMGRAD_INLINE {
          T x_pack[kChannelChunk];
          const T* v = packed(x, segment, x_pack);
          if (m.is_split) {
            put([&](std::int64_t i, auto step) NORMGRAD_INLINE {
              return batch_norm_y(centred(load<A>(v + i, step), m.high, m.low), map);
            });
          } else {
            put([&](std::int64_t i, auto step)
                    NORMGRAD_INLINE { return batch_norm_y(load<A>(v + i, step) - m.high, map); });
          }
        });
  }

 private:
  struct Mean {
    Vec<A> high, low;
    bool is_split;  // low is not 0
  };
  static Mean split(double mean, double rest = 0) {
    const double low = std::is_same_v<A, double> ? rest : low_part<A>(mean);
    return {all(static_cast<A>(mean)), all(static_cast<A>(low)), low != 0};
  }

  const T* packed(int argument, const Segment& segment, T* pack) const {
    const T* data = static_cast<const T*>(data_[argument]);
    if (lies_together(split_, argument)) return data + offset_of(split_, argument, segment);
    pack_segment(split_, argument, segment, data, pack);
    return pack;
  }

  template <class Term>
  NORMGRAD_ALWAYS std::array<double, 1> statistics_sum(int x, std::int64_t channel,
                                                       std::int64_t chunk, Term&& term) const {
    Sums<double, 1> sums;
    each_segment(channel, chunk, [&](const Segment& segment) NORMGRAD_INLINE {
      T x_pack[kChannelChunk];
      const T* v = packed(x, segment, x_pack);
      sums.walk(segment.count, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
        return std::array<Vec<double>, 1>{term(load<double>(v + i, step))};
      });
    });
    return sums.finish();
  }

  // body(segment, put) for every segment of a chunk; put(value) writes value(i, step) to the
  // segment's elements of `output`.
  template <class Body>
  NORMGRAD_ALWAYS void write_segments(int output, std::int64_t channel, std::int64_t chunk,
                                      Stores stores, Body&& body) const {
    T* const data = static_cast<T*>(data_[output]);
    const bool direct = lies_together(split_, output);
    each_segment(channel, chunk, [&](const Segment& segment) NORMGRAD_INLINE {
      T pack[kChannelChunk];
      T* to = direct ? data + offset_of(split_, output, segment) : pack;
      body(segment, [&](auto&& value) NORMGRAD_INLINE {
        elementwise<A>(segment.count, to, direct ? stores : Stores::kCached, value);
      });
      if (!direct) unpack_segment(split_, output, segment, pack, data);
    });
  }

  template <class Body>
  void each_segment(std::int64_t channel, std::int64_t chunk, Body&& body) const {
    const std::int64_t n_begin = chunk / split_.l_chunks * split_.chunk_n;
    const std::int64_t n_end = std::min(n_begin + split_.chunk_n, split_.n);
    const std::int64_t l_begin = chunk % split_.l_chunks * split_.chunk_l;
    const std::int64_t l_end = std::min(l_begin + split_.chunk_l, split_.l);
    for (std::int64_t n = n_begin; n < n_end; ++n)
      body(Segment{n, channel, l_begin, l_end - l_begin});
  }

  const ChannelSplit& split_;
  void* const* data_;
};

// Runs an operator's loops for the element type of argument `data_argument`.
template <template <typename> class Loops>
void run_loops(int data_argument, const Plan& plan, void* const* data, std::byte* workspace) {
  switch (plan.argument[data_argument].tensor.dtype) {
    case DataType::kF16:
      return Loops<Half>(plan, data, workspace).run();
    case DataType::kBF16:
      return Loops<BFloat>(plan, data, workspace).run();
    default:
      return Loops<float>(plan, data, workspace).run();
  }
}

NORMGRAD_TARGET_END
#endif
