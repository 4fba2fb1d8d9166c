// The forward loops of the row norms, for a formula F (formulas-inl.h) and an element type T. A row's
// statistics are summed in f64 whatever T is: its mean, then the squares of what is left, so that a
// mean far from 0 costs no digits. Every read of an element comes before y is written there, and of a
// row before its statistics are, so y may lie in place of x, and so may these, of rows of one element.
#if defined(NORMGRAD_OPS_ROW_NORM_FORWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORMGRAD_OPS_ROW_NORM_FORWARD_INL_H
#undef NORMGRAD_OPS_ROW_NORM_FORWARD_INL_H
#else
#define NORMGRAD_OPS_ROW_NORM_FORWARD_INL_H
#endif

#include <algorithm>
#include <limits>

#include "runtime/sizes.h"
#include "kernels/elementwise-inl.h"
#include "kernels/parallel_for.h"
#include "kernels/sums-inl.h"
#include "kernels/pairwise.h"
#include "ops/formulas-inl.h"
#include "ops/row_norm/row_norm.h"
#include "ops/row_norm/rows-inl.h"
#include "ops/statistics.h"

NORMGRAD_TARGET_BEGIN

// Rows that a thread takes at once.
inline constexpr std::int64_t kGroupRows = 8;

struct RowStatistics {
  double mean = 0;
  double rest = 0;  // of the mean, beyond its f64
  double rstd = 0;
};

template <class F, typename T>
class RowForward {
 public:
  RowForward(const PlanBody& plan, const RowForwardRoles& roles, void* const* data,
             std::byte* workspace)
      : plan_(plan),
        roles_(roles),
        split_(plan.row),
        data_(data),
        elements_(split_.rows * split_.columns) {
    if (elements_ == 0) return;  // there need be no workspace
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    workspace += (64 - address % 64) % 64;
    const RowForwardWorkspace at = row_forward_workspace(plan);
    w_ = reinterpret_cast<A*>(workspace + at.w);
    b_ = reinterpret_cast<A*>(workspace + at.b);
    partials_ = reinterpret_cast<std::array<double, 1>*>(workspace + at.partials);
    prepare(roles.w, A{1}, w_);
    if constexpr (F::kCentres) prepare(roles.b, A{0}, b_);
    const bool in_place = wanted(roles.y) && data[roles.y] == data[roles.x];
    stores_ = in_place ? Stores::kCached : stores_for(2 * elements_ * std::int64_t{sizeof(T)});
  }

  void run() {
    if (elements_ == 0) return store_statistics_of_nothing();
    if (is_wide_forward(split_)) return run_wide();
    kernels::parallel_for(ceil_div(split_.rows, kGroupRows), elements_,
                      [&](std::int64_t group) NORMGRAD_ATTR {
                        const std::int64_t begin = group * kGroupRows;
                        const std::int64_t end = std::min(begin + kGroupRows, split_.rows);
                        for (std::int64_t row = begin; row < end; ++row) run_row(row);
                        end_stores(stores_);
                      });
  }

 private:
  using A = Arithmetic<T>;

  bool wanted(int role) const { return role != kAbsent && plan_.argument[role].tensor.present(); }
  const T* x_of(std::int64_t row) const {
    return static_cast<const T*>(data_[roles_.x]) + row_offset(split_, roles_.x, row);
  }
  void prepare(int role, A absent, A* to) const {
    prepare_row_weights<T>(plan_.argument[role].tensor, data_[role], split_, absent, to);
  }

  void run_row(std::int64_t row) const {
    RowStatistics s;
    if constexpr (F::kCentres) finish_mean(sum_of_row(row, s, Mean()), s);
    finish_rstd(sum_of_row(row, s, Squares()), s);
    if (wanted(roles_.y)) apply(row, s, 0, split_.columns);
    store_statistics(row, s);
  }

  // Threads share the rows of a batch that stays in the cache, chunk by chunk.
  void run_wide() {
    const std::int64_t row_bytes = split_.columns * std::int64_t{sizeof(T)};
    const std::int64_t fitting = kernels::last_level_cache_bytes() / 4 / row_bytes;
    const std::int64_t batch = std::clamp(fitting, std::int64_t{1}, kWideForwardRows);
    for (std::int64_t row = 0; row < split_.rows; row += batch) {
      run_batch(row, std::min(batch, split_.rows - row));
    }
  }
  void run_batch(std::int64_t first, std::int64_t rows) {
    RowStatistics of[kWideForwardRows];
    if constexpr (F::kCentres) {
      sum_rows(first, rows, of, Mean());
      for (std::int64_t r = 0; r < rows; ++r) finish_mean(folded(r), of[r]);
    }
    sum_rows(first, rows, of, Squares());
    for (std::int64_t r = 0; r < rows; ++r) finish_rstd(folded(r), of[r]);
    if (wanted(roles_.y)) {
      for_chunks(rows, [&](std::int64_t r, std::int64_t begin, std::int64_t end, std::int64_t)
                           NORMGRAD_ATTR {
                             apply(first + r, of[r], begin, end);
                             end_stores(stores_);
                           });
    }
    for (std::int64_t r = 0; r < rows; ++r) store_statistics(first + r, of[r]);
  }
  // body(row of the batch, first column, end, which chunk of the batch), on all threads.
  template <class Body>
  void for_chunks(std::int64_t rows, Body&& body) const {
    const std::int64_t chunks = ceil_div(split_.columns, kRowChunk);
    kernels::parallel_for(rows * chunks, rows * split_.columns, [&](std::int64_t task) NORMGRAD_ATTR {
      const std::int64_t begin = task % chunks * kRowChunk;
      body(task / chunks, begin, std::min(begin + kRowChunk, split_.columns), task);
    });
  }
  template <class Pass>
  void sum_rows(std::int64_t first, std::int64_t rows, const RowStatistics* of, Pass pass) {
    for_chunks(rows, [&](std::int64_t r, std::int64_t begin, std::int64_t end, std::int64_t task)
                         NORMGRAD_ATTR {
                           partials_[task] = chunk_sum(x_of(first + r), of[r], begin, end, pass);
                         });
  }
  double folded(std::int64_t row_of_batch) const {
    const std::int64_t chunks = ceil_div(split_.columns, kRowChunk);
    kernels::Pairwise<1> sum;
    for (std::int64_t c = 0; c < chunks; ++c) sum.add(partials_[row_of_batch * chunks + c]);
    return sum.finish()[0];
  }

  // What a pass adds up.
  struct Mean {
    static NORMGRAD_ALWAYS Vec<double> term(Vec<double> x, Vec<double>) { return x; }
  };
  struct Squares {
    static NORMGRAD_ALWAYS Vec<double> term(Vec<double> x, Vec<double> mean) {
      const Vec<double> centred = F::kCentres ? x - mean : x;
      return centred * centred;
    }
  };
  template <class Pass>
  static std::array<double, 1> chunk_sum(const T* x, const RowStatistics& s, std::int64_t begin,
                                         std::int64_t end, Pass) {
    const Vec<double> mean = all(s.mean);
    Sums<double, 1> sums;
    sums.walk(end - begin, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
      return std::array<Vec<double>, 1>{Pass::term(load<double>(x + begin + i, step), mean)};
    });
    return sums.finish();
  }
  template <class Pass>
  double sum_of_row(std::int64_t row, const RowStatistics& s, Pass pass) const {
    const T* x = x_of(row);
    if (split_.columns <= kRowChunk) return chunk_sum(x, s, 0, split_.columns, pass)[0];
    kernels::Pairwise<1> sum;
    for (std::int64_t begin = 0; begin < split_.columns; begin += kRowChunk) {
      sum.add(chunk_sum(x, s, begin, std::min(begin + kRowChunk, split_.columns), pass));
    }
    return sum.finish()[0];
  }
  void finish_mean(double sum, RowStatistics& s) const {
    const auto n = static_cast<double>(split_.columns);
    s.mean = sum / n;
    s.rest = rest_of_mean(sum, n, s.mean);
  }
  void finish_rstd(double squares, RowStatistics& s) const {
    s.rstd = rstd_of(squares / static_cast<double>(split_.columns), plan_.eps);
  }

  void store_statistics(std::int64_t row, const RowStatistics& s) const {
    const auto store_in = [&](int role, double value) {
      if (!wanted(role)) return;
      kernels::store_element(data_[role], plan_.argument[role].tensor.dtype,
                         row_offset(split_, role, row), value);
    };
    store_in(roles_.mean, s.mean);
    store_in(roles_.rstd, s.rstd);
  }
  void store_statistics_of_nothing() const {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t row = 0; row < split_.rows; ++row) store_statistics(row, {0, 0, kNaN});
  }

  void apply(std::int64_t row, const RowStatistics& s, std::int64_t begin, std::int64_t end) const {
    if constexpr (sizeof(A) == 4) {
      // f32 may lose rows that are far larger or smaller than w and b.
      if (!(s.rstd >= 0x1p-60 && s.rstd <= 0x1p60)) return apply_in<double>(row, s, begin, end);
    }
    apply_in<A>(row, s, begin, end);
  }
  // What goes past the cache goes through a tile on the stack.
  template <typename B>
  void apply_in(std::int64_t row, const RowStatistics& s, std::int64_t begin,
                std::int64_t end) const {
    alignas(64) T tile[kForwardTile];
    const T* x = x_of(row);
    T* y = static_cast<T*>(data_[roles_.y]) + row_offset(split_, roles_.y, row);
    const double low = std::is_same_v<B, double> ? s.rest : low_part<B>(s.mean);
    const RowMap<Vec<B>> map{all(constant<B>(s.mean)), all(constant<B>(low)),
                             all(constant<B>(s.rstd)), all(B{0}), all(B{0})};
    for (std::int64_t at = begin; at < end; at += kForwardTile) {
      const std::int64_t count = std::min(kForwardTile, end - at);
      T* to = stores_ == Stores::kCached ? y + at : tile;
      elementwise_by<Stores::kCached, B>(count, to, [&](std::int64_t i, auto step) NORMGRAD_INLINE {
        const Vec<B> w = load_weights<B, T>(w_, at + i, step);
        if constexpr (F::kCentres) {
          return F::value(load<B>(x + at + i, step), w, load_weights<B, T>(b_, at + i, step), map);
        } else {
          return F::value(load<B>(x + at + i, step), w, map);
        }
      });
      if (stores_ == Stores::kStreamed) stream_copy(count, tile, y + at);
    }
  }
  static constexpr std::int64_t kForwardTile = 512;

  const PlanBody& plan_;
  const RowForwardRoles& roles_;
  const RowSplit& split_;
  void* const* data_;
  std::int64_t elements_;
  A *w_ = nullptr, *b_ = nullptr;
  std::array<double, 1>* partials_ = nullptr;
  Stores stores_ = Stores::kCached;
};

// Picks the element type.
template <class F>
void run_row_forward(const PlanBody& plan, const RowForwardRoles& roles, void* const* data,
                     std::byte* workspace) {
  switch (plan.argument[roles.x].tensor.dtype) {
    case DataType::kF16:
      return RowForward<F, Half>(plan, roles, data, workspace).run();
    case DataType::kBF16:
      return RowForward<F, BFloat>(plan, roles, data, workspace).run();
    default:
      return RowForward<F, float>(plan, roles, data, workspace).run();
  }
}

NORMGRAD_TARGET_END
#endif
