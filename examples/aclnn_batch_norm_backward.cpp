// The gradients of BatchNorm in training, in f32: batch 1, 2 channels, length 4.
//
// By hand: gradOut = input, weight 1, and the saved statistics are mean 0, 1/sqrt(var + eps) = 1,
// so x_hat = input. They are not those of this input, but they are used as they are given.
//   channel 0: 0 1 2 3:  gradBias =  6, gradWeight =  0+1+4+9     =  14
//   channel 1: 4 5 6 7:  gradBias = 22, gradWeight = 16+25+36+49  = 126
//   gradInput = gradOut - gradBias/4 - x_hat * gradWeight/4
//     channel 0: x - 1.5 - 3.5 x  =   -1.5   -4     -6.5   -9
//     channel 1: x - 5.5 - 31.5 x = -127.5 -158   -188.5 -219
#include <acl/acl.h>
#include <aclnnop/aclnn_batch_norm_backward.h>

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

static int wrong(const char* name, const Tensor& t, const std::vector<float>& expected) {
  const size_t bytes = expected.size() * sizeof(float);
  std::vector<float> got(expected.size());
  must(aclrtMemcpy(got.data(), bytes, t.address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  std::printf("%s\n", name);
  for (size_t i = 0; i < got.size(); ++i) std::printf("result[%zu] is: %f\n", i, got[i]);
  return got == expected ? 0 : 1;
}

int main() {
  aclrtStream stream;
  must(aclInit(nullptr));
  must(aclrtSetDevice(0));
  must(aclrtCreateStream(&stream));

  const Tensor grad_out = make({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor input = make({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor weight = make({2}, {1, 1});
  const Tensor running_mean = make({2}, {0, 0}), running_var = make({2}, {1, 1});
  const Tensor save_mean = make({2}, {0, 0}), save_invstd = make({2}, {1, 1});
  const Tensor grad_input = make({1, 2, 4}, std::vector<float>(8, 0));
  const Tensor grad_weight = make({2}, {0, 0}), grad_bias = make({2}, {0, 0});
  const bool all_three[] = {true, true, true};
  const bool training = true;
  aclBoolArray* mask = aclCreateBoolArray(all_three, 3);

  // Phase 1 checks the arguments and tells the size of the workspace; phase 2 computes.
  uint64_t bytes = 0;
  void* workspace = nullptr;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormBackwardGetWorkspaceSize(
      grad_out.handle, input.handle, weight.handle, running_mean.handle, running_var.handle,
      save_mean.handle, save_invstd.handle, training, 1e-5, mask, grad_input.handle,
      grad_weight.handle, grad_bias.handle, &bytes, &executor));
  if (bytes > 0) must(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  must(aclnnBatchNormBackward(workspace, bytes, executor, stream));
  must(aclrtSynchronizeStream(stream));

  int errors = wrong("gradInput", grad_input, {-1.5f, -4, -6.5f, -9, -127.5f, -158, -188.5f, -219});
  errors += wrong("gradWeight", grad_weight, {14, 126});
  errors += wrong("gradBias", grad_bias, {6, 22});

  if (bytes > 0) must(aclrtFree(workspace));
  must(aclDestroyBoolArray(mask));
  for (const Tensor& t : {grad_out, input, weight, running_mean, running_var, save_mean,
                          save_invstd, grad_input, grad_weight, grad_bias}) {
    must(aclDestroyTensor(t.handle));
    must(aclrtFree(t.address));
  }
  must(aclrtDestroyStream(stream));
  must(aclrtResetDevice(0));
  must(aclFinalize());
  return errors;
}
