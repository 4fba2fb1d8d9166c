// The sums that the backward pass of BatchNorm is made of, in f32: 4 x 2, that is 2 channels of 4.
//
// By hand, with mean 1 and invstd 1 in both channels:
//   channel 0: gradOut = 1 1 2 3, input = 0 2 4 6:  sumDy = 7, sumDyXmu = -1+1+6+15 = 21
//   channel 1: gradOut = 1 2 2 3, input = 1 3 5 7:  sumDy = 8, sumDyXmu =  0+4+8+18 = 30
//   gradWeight = sumDyXmu * invstd, gradBias = sumDy
#include <acl/acl.h>
#include <aclnnop/aclnn_batch_norm_backward_reduce.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(int code) {
  if (code == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "error %d: %s\n", code, message != nullptr ? message : "");
  std::exit(1);
}

struct Tensor {
  void* address;
  aclTensor* handle;
};

static Tensor make(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  Tensor t;
  const size_t bytes = values.size() * sizeof(float);
  must(aclrtMalloc(&t.address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  must(aclrtMemcpy(t.address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  t.handle = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                             shape.data(), shape.size(), t.address);
  return t;
}

static int wrong(const Tensor& t, const std::vector<float>& expected) {
  const size_t bytes = expected.size() * sizeof(float);
  std::vector<float> got(expected.size());
  must(aclrtMemcpy(got.data(), bytes, t.address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t i = 0; i < got.size(); ++i) std::printf("result[%zu] is: %f\n", i, got[i]);
  return got == expected ? 0 : 1;
}

int main() {
  aclrtStream stream;
  must(aclInit(nullptr));
  must(aclrtSetDevice(0));
  must(aclrtCreateStream(&stream));

  const Tensor grad_out = make({4, 2}, {1, 1, 1, 2, 2, 2, 3, 3});
  const Tensor input = make({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor mean = make({2}, {1, 1}), invstd = make({2}, {1, 1}), weight = make({2}, {1, 1});
  const Tensor sum_dy = make({2}, {1, 1}), sum_dy_xmu = make({2}, {1, 1});
  const Tensor grad_weight = make({2}, {1, 1}), grad_bias = make({2}, {1, 1});

  // Phase 1 checks the arguments and tells the size of the workspace; phase 2 computes.
  uint64_t bytes = 0;
  void* workspace = nullptr;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormReduceBackwardGetWorkspaceSize(
      grad_out.handle, input.handle, mean.handle, invstd.handle, weight.handle, true, true, true,
      sum_dy.handle, sum_dy_xmu.handle, grad_weight.handle, grad_bias.handle, &bytes, &executor));
  if (bytes > 0) must(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  must(aclnnBatchNormReduceBackward(workspace, bytes, executor, stream));
  must(aclrtSynchronizeStream(stream));

  int errors = wrong(sum_dy, {7, 8}) + wrong(sum_dy_xmu, {21, 30});
  errors += wrong(grad_weight, {21, 30}) + wrong(grad_bias, {7, 8});

  if (bytes > 0) must(aclrtFree(workspace));
  for (const Tensor& t :
       {grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, grad_weight, grad_bias}) {
    must(aclDestroyTensor(t.handle));
    must(aclrtFree(t.address));
  }
  must(aclrtDestroyStream(stream));
  must(aclrtResetDevice(0));
  must(aclFinalize());
  return errors;
}
