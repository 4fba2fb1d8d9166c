// What a forgotten aclrtSynchronizeStream looks like. On an NPU the second phase of an operator
// only submits work, so results that are read too early are sometimes right. With
// NORMGRAD_STREAMS=deferred nothing is computed before somebody waits: the mistake shows always.
#include <aclnnop/aclnn_batch_norm_stats.h>

#include "acl_example.h"

using namespace example;

int main() {
  // Usually set in the shell. The library reads it once, at its first call.
  setenv("NORMGRAD_STREAMS", "deferred", 1);

  const Session session;
  const Device device;
  const Tensor input({3, 2}, {1, 4, 2, 5, 3, 6}), mean({2}, {-1, -1}), invstd({2});
  uint64_t bytes = 0;
  void* workspace = nullptr;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormStatsGetWorkspaceSize(input, 1e-5, mean, invstd, &bytes, &executor));
  if (bytes > 0) must(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  must(aclnnBatchNormStats(workspace, bytes, executor, device.stream()));

  std::printf("read before aclrtSynchronizeStream: what was there before\n");
  int errors = wrong("mean", mean, {-1, -1});

  must(aclrtSynchronizeStream(device.stream()));
  std::printf("read after it: the means of 1 2 3 and 4 5 6\n");
  errors += wrong("mean", mean, {2, 5});

  if (workspace != nullptr) must(aclrtFree(workspace));
  return errors;
}
