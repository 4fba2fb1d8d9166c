// The fast kernels of one target: compiled once for each, with its instruction set's flags.
#include <initializer_list>

#include "kernels/column_sums.h"
#include "kernels/map.h"
#include "kernels/numbers.h"
#include "kernels/row_gradients.h"
#include "kernels/row_sums.h"
#include "kernels/sets.h"

namespace normgrad::NORMGRAD_TARGET {

// Rows of numbers in the order of columns, the first `count` of each again and again.
template <class A>
void repeat(A* row, std::int64_t count, std::int64_t pitch) {
  for (std::int64_t c = count; c < pitch; ++c) row[c] = row[c - count];
}
template <class A, class T>
void order_lanes(A* row, std::int64_t pitch) {
  for (std::int64_t c = 0; kSplitsLanes<A, T> && c < pitch; c += kStep) {
    A step[kStep];
    std::memcpy(step, row + c, sizeof(step));
    for (int i = 0; i < kStep; ++i) row[c + kernels::lane_of(DataType::kBF16, i)] = step[i];
  }
}
template <class A, class T>
void prepare_columns(ColumnMaps& maps) {
  A *mean = maps.rows, *rest = mean + maps.pitch, *a = rest + maps.pitch, *b = a + maps.pitch,
    *c = b + maps.pitch;
  maps.have_rest = false;
  for (std::int64_t i = 0; i < maps.channels; ++i) {
    const RowMap& map = maps.maps[i];
    const double left = rest_of<A>(map.mean);
    maps.have_rest |= left != 0;
    mean[i] = plain_number<A>(map.mean);
    rest[i] = plain_number<A>(left);
    a[i] = plain_number<A>(map.a());
    b[i] = plain_number<A>(map.b());
    c[i] = plain_number<A>(map.c());
  }
  for (A* row : {mean, rest, a, b, c}) {
    repeat<A>(row, maps.channels, maps.pitch);
    order_lanes<A, T>(row, maps.pitch);
  }
}

template <class T>
constexpr kernels::Kernels kernel_set() {
  using A = float;
  return {row_sums<A, T>,
          map_rows<A, T>,
          row_gradients<A, T>,
          load_numbers<T>,
          store_sums<T>,
          end_chain<A>,
          clear,
          add,
          prepare_columns<A, T>,
          column_sums<A, T>,
          map_columns<A, T>,
          stream,
          false};
}

const kernels::KernelSets kFast = {kernel_set<Half>(), kernel_set<BFloat>(), kernel_set<float>()};

}  // namespace normgrad::NORMGRAD_TARGET
