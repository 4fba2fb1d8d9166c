// A channel norm on the CPU: who walks which chunk of which channels when, and where sums lie meanwhile.
// What is computed comes from an operator class Op:
//
//   static constexpr ChannelArguments kArguments;
//   template <int kPass> using SumFormula;            formulas-inl.h
//   static constexpr int kPasses;                     sweeps over the input that the totals take
//   Op(plan, data);
//   bool sums_wanted() const, output_wanted() const;
//   bool output_needs_sums() const;
//   void set_maps(pass, tile, totals, maps);          what sweep `pass` needs; kPasses: the output
//   void store(tile, totals);                         the channels' results; after their last set_maps()
//   void with_output_formula(body);                   body(formula)
#if defined(NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#undef NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#else
#define NORMGRAD_OPS_CHANNEL_NORM_LOOPS_INL_H
#endif

#include <algorithm>

#include "kernels/parallel_for.h"
#include "ops/channel_norm/parameters.h"
#include "ops/channel_norm/pixels-inl.h"
#include "ops/channel_norm/planes-inl.h"

NORMGRAD_TARGET_BEGIN

template <class Op, typename T, class Loops>
class ChannelNorm {
 public:
  ChannelNorm(const PlanBody& plan, void* const* data, std::byte* workspace)
      : split_(plan.channel),
        op_(plan, data),
        loops_(plan.channel, Op::kArguments, data),
        chunks_(split_.n_chunks * split_.l_chunks),
        elements_(split_.l == 0 ? 0 : split_.channels * split_.n * split_.l) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    totals_ = reinterpret_cast<ChannelTotals*>(workspace + (16 - address % 16) % 16);
    const auto [dy, x, out] = Op::kArguments;
    const bool in_place = data[out] == data[dy] || data[out] == data[x];
    const std::int64_t tensors = dy == x ? 2 : 3;
    beyond_cache_ = elements_ > kernels::last_level_cache_bytes() / (tensors * std::int64_t{sizeof(T)});
    stores_ = kStreams && beyond_cache_ && !in_place ? Stores::kStreamed : Stores::kCached;
  }

  void run() {
    if (elements_ == 0) {
      store_all();
    } else if (loops_.takes_whole_tiles()) {
      kernels::parallel_for(loops_.tiles(), elements_,
                        [&](std::int64_t tile) NORMGRAD_ATTR { run_tile(loops_.tile(tile)); });
    } else {
      run_chunks();
    }
  }

 private:
  static constexpr ChannelTotals kNone{};

  void run_tile(ChannelTile tile) const {
    if (op_.sums_wanted()) {
      unroll<Op::kPasses>([&](auto pass) NORMGRAD_ATTR {
        for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) add_chunk<pass>(tile, chunk);
        fold_chunks<pass>(tile);
      });
    }
    ChannelMaps maps;
    set_maps(Op::kPasses, tile, maps);
    if (op_.sums_wanted()) store(tile);
    if (!op_.output_wanted()) return;
    // Backwards: what the sums have read last is still in cache.
    for (std::int64_t chunk = chunks_; chunk-- > 0;) {
      write({tile, span_of(split_, chunk)}, maps);
    }
    end_stores(stores_);
  }

  void run_chunks() const {
    const std::int64_t tiles = loops_.tiles();
    // An output that does not need the sums can be written with the one sweep that they take.
    const bool at_once = Op::kPasses == 1 && op_.output_wanted() && !op_.output_needs_sums() &&
                         op_.sums_wanted() && loops_.output_goes_with_sums(beyond_cache_);
    const auto write_part = [&](const OutputPart& part) NORMGRAD_ATTR {
      ChannelMaps maps;
      set_maps(Op::kPasses, part.tile, maps);
      write(part, maps);
      end_stores(stores_);
    };
    if (op_.sums_wanted()) {
      unroll<Op::kPasses>([&](auto pass) NORMGRAD_ATTR {
        kernels::parallel_for(tiles * chunks_, elements_, [&](std::int64_t task) NORMGRAD_ATTR {
          const ChannelTile tile = loops_.tile(task % tiles);
          add_chunk<pass>(tile, task / tiles);
          if (at_once) write_part({tile, span_of(split_, task / tiles)});
        });
        kernels::parallel_for(tiles, split_.channels * chunks_, [&](std::int64_t tile) NORMGRAD_ATTR {
          fold_chunks<pass>(loops_.tile(tile));
        });
      });
    }
    // Backwards: what the sums have read last is still in cache.
    if (op_.output_wanted() && !at_once) {
      kernels::parallel_for(
          loops_.output_parts(), elements_,
          [&](std::int64_t part) NORMGRAD_ATTR { write_part(loops_.output_part(part)); },
          kernels::Order::kBackwards);
    }
    if (op_.sums_wanted()) store_all();
  }

  ChannelTotals* totals(std::int64_t channel) const { return totals_ + channel * chunks_; }

  void set_maps(int pass, ChannelTile tile, ChannelMaps& maps) const {
    const bool needs_totals = pass < Op::kPasses || op_.output_needs_sums();
    op_.set_maps(pass, tile, needs_totals ? totals_of(tile) : TileTotals{&kNone, 0}, maps);
  }
  TileTotals totals_of(ChannelTile tile) const {
    return elements_ == 0 ? TileTotals{&kNone, 0} : TileTotals{totals(tile.first), chunks_};
  }
  void store(ChannelTile tile) const { op_.store(tile, totals_of(tile)); }
  void store_all() const {
    for (std::int64_t c = 0; c < split_.channels; c += kChannelTile) {
      store({c, std::min(kChannelTile, split_.channels - c)});
    }
  }

  // A pass of one sum writes the total of its number, one of two sums both.
  template <int kPass>
  void add_chunk(ChannelTile tile, std::int64_t chunk) const {
    ChannelMaps maps;
    set_maps(kPass, tile, maps);
    double* const first = totals(tile.first)[chunk].data() + kPass;
    loops_.template sums<typename Op::template SumFormula<kPass>>(tile, chunk, maps,
                                                                  {first, 2 * chunks_});
  }

  // By stride doubling, into the first chunk's place.
  template <int kPass>
  void fold_chunks(ChannelTile tile) const {
    for (std::int64_t c = tile.first; c < tile.first + tile.count; ++c) {
      ChannelTotals* const all = totals(c);
      for (std::int64_t s = 1; s < chunks_; s *= 2) {
        for (std::int64_t i = 0; i + s < chunks_; i += 2 * s) {
          for (int k = kPass; k < kPass + Op::template SumFormula<kPass>::kSums; ++k) {
            all[i][k] += all[i + s][k];
          }
        }
      }
    }
  }

  void write(const OutputPart& part, const ChannelMaps& maps) const {
    op_.with_output_formula([&](auto formula) NORMGRAD_ATTR {
      loops_.template write<decltype(formula)>(part, maps, stores_);
    });
  }

  const ChannelSplit& split_;
  Op op_;
  Loops loops_;
  std::int64_t chunks_;
  std::int64_t elements_;
  ChannelTotals* totals_;
  bool beyond_cache_;
  Stores stores_;
};

template <class Op, typename T>
void run_channel_norm_of(const PlanBody& plan, void* const* data, std::byte* workspace) {
  if (plan.channel.across_channels) {
    ChannelNorm<Op, T, PixelLoops<T>>(plan, data, workspace).run();
  } else {
    ChannelNorm<Op, T, PlaneLoops<T>>(plan, data, workspace).run();
  }
}

// Picks the element type.
template <class Op>
void run_channel_norm(const PlanBody& plan, void* const* data, std::byte* workspace) {
  switch (plan.argument[Op::kArguments.x].tensor.dtype) {
    case DataType::kF16:
      return run_channel_norm_of<Op, Half>(plan, data, workspace);
    case DataType::kBF16:
      return run_channel_norm_of<Op, BFloat>(plan, data, workspace);
    default:
      return run_channel_norm_of<Op, float>(plan, data, workspace);
  }
}

NORMGRAD_TARGET_END
#endif
