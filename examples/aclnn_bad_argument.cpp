// What a mistake looks like: the data has 2 channels, but sumDy has 3 elements. The first phase
// returns a code and writes nothing; aclGetRecentErrMsg says which argument it was, what was given
// and what is allowed.
#include <aclnn/normgrad_errors.h>
#include <aclnnop/aclnn_batch_norm_backward_reduce.h>

#include "acl_example.h"

using namespace example;

int main() {
  const Session session;
  const Device device;
  const Tensor grad_out({4, 2}), input({4, 2}), mean({2}), invstd({2});
  const Tensor sum_dy({3}), sum_dy_xmu({2});

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus code = aclnnBatchNormReduceBackwardGetWorkspaceSize(
      grad_out, input, mean, invstd, nullptr, true, false, false, sum_dy, sum_dy_xmu, nullptr,
      nullptr, &bytes, &executor);
  const char* message = aclGetRecentErrMsg();
  std::printf("code %d: %s\n", code, message != nullptr ? message : "(no message)");

  if (code == ACLNN_ERR_PARAM_INVALID && message != nullptr && executor == nullptr) return 0;
  std::fprintf(stderr, "expected code %d, a message and no executor\n", ACLNN_ERR_PARAM_INVALID);
  return 1;
}
