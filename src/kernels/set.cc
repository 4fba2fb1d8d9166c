// The fast kernels of one target: compiled once for each, with its instruction set's flags.
#include "kernels/channel_moments.h"
#include "kernels/column_sums.h"
#include "kernels/map.h"
#include "kernels/moments.h"
#include "kernels/normalize.h"
#include "kernels/numbers.h"
#include "kernels/planes.h"
#include "kernels/row_gradients.h"
#include "kernels/row_sums.h"
#include "kernels/sets.h"
#include "kernels/tiles.h"

namespace normgrad::NORMGRAD_TARGET {

template <class T>
constexpr kernels::Kernels kernel_set() {
  using A = float;
  return {row_sums<A, T>,
          map_rows<A, T>,
          row_gradients<A, T>,
          moments<A, T>,
          normalize<A, T>,
          load_numbers<T>,
          store_sums<T>,
          end_chain<A>,
          clear,
          add,
          prepare_planes<A>,
          plane_sums<A, T>,
          map_planes<A, T>,
          prepare_columns<A, T>,
          column_sums<A, T>,
          map_columns<A, T>,
          plane_moments<A, T>,
          column_moments<A, T>,
          merge_moments,
          widen<A, T>,
          widen_add<A, T>,
          widen_scale<A, T>,
          narrow<A, T>,
          stream,
          false,
          kFillsLines<A, T>};
}

const kernels::KernelSets kFast = {kernel_set<Half>(), kernel_set<BFloat>(), kernel_set<float>()};

}  // namespace normgrad::NORMGRAD_TARGET
