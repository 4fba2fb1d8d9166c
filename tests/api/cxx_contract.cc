// The headers of the C++ contract compile as C++17 and later; from C++20 on problems can be compared.
#include "normgrad/last_error.h"
#include "normgrad/plan.h"
#include "normgrad/settings.h"
#include "normgrad/sync_batch_norm.h"

#if __cplusplus >= 202002L
namespace normgrad {

constexpr Problem with_rank(int rank, DataType dtype = DataType::kF32) {
  Problem problem;
  problem[Arg::kX].rank = rank;
  problem[Arg::kX].dtype = dtype;
  return problem;
}
static_assert(with_rank(2) == with_rank(2));
static_assert(with_rank(2) != with_rank(3));
static_assert(with_rank(2) != with_rank(2, DataType::kF16));
static_assert(with_rank(2, DataType::kNone) == with_rank(3, DataType::kNone));  // no tensor

}  // namespace normgrad
#endif
