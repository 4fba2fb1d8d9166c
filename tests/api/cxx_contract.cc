// The headers of the C++ contract compile as C++17 and later; from C++20 on problems can be compared.
#include "normgrad/batch_norm.h"
#include "normgrad/batch_norm_backward.h"
#include "normgrad/batch_norm_elemt_backward.h"
#include "normgrad/batch_norm_gather_stats.h"
#include "normgrad/last_error.h"
#include "normgrad/layer_norm.h"
#include "normgrad/layer_norm_backward.h"
#include "normgrad/rms_norm.h"
#include "normgrad/rms_norm_backward.h"
#include "normgrad/settings.h"
#include "normgrad/sync_batch_norm.h"

#if __cplusplus >= 202002L
namespace normgrad {

constexpr LayerNorm with_rank(int rank) {
  LayerNorm problem;
  problem.x.rank = rank;
  return problem;
}
static_assert(with_rank(2) == with_rank(2));
static_assert(with_rank(2) != with_rank(3));

}  // namespace normgrad
#endif
