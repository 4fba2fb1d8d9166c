// What a call costs when there is almost nothing to compute: both phases of
// aclnnBatchNormReduceBackward for 4x2 f32, on a stream of the mode that the environment asks for; and the check of a
// handle, which is part of every call.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_batch_norm_backward_reduce.h"
#include "handle_checks.h"

namespace {

constexpr double kBarMicroseconds = 3;
constexpr int kCalls = 20001;

float dy[8] = {1, 1, 1, 2, 2, 2, 3, 3}, x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
float mean[2] = {1, 1}, rstd[2] = {1, 1}, sum_dy[2], sum_dy_xmu[2], dw[2], db[2];
alignas(64) unsigned char workspace[4096];

aclTensor* tensor(float* data, std::vector<std::int64_t> shape) {
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                         shape.data(), shape.size(), data);
}

struct Times {
  double phase1, phase2, both;  // microseconds
};

bool call(const aclTensor* const* in, aclTensor* const* out, aclrtStream stream, Times* times) {
  using Clock = std::chrono::steady_clock;
  const auto microseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
  };
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const auto begin = Clock::now();
  const int first = aclnnBatchNormReduceBackwardGetWorkspaceSize(
      in[0], in[1], in[2], in[3], nullptr, true, true, true, out[0], out[1], out[2], out[3], &bytes,
      &executor);
  const auto middle = Clock::now();
  const int second =
      first != 0 ? first : aclnnBatchNormReduceBackward(workspace, bytes, executor, stream);
  const auto end = Clock::now();
  *times = {microseconds(middle - begin), microseconds(end - middle), microseconds(end - begin)};
  return second == 0 && aclrtSynchronizeStream(stream) == 0;
}

double median(const std::vector<Times>& times, double Times::*member) {
  std::vector<double> values;
  for (const Times& t : times) values.push_back(t.*member);
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

bool answers_are_right() {
  return sum_dy[0] == 7 && sum_dy[1] == 8 && sum_dy_xmu[0] == 21 && sum_dy_xmu[1] == 30 &&
         dw[0] == 21 && dw[1] == 30 && db[0] == 7 && db[1] == 8;
}

}  // namespace

int main() {
  aclrtStream stream = nullptr;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return 1;
  const aclTensor* in[] = {tensor(dy, {4, 2}), tensor(x, {4, 2}), tensor(mean, {2}),
                           tensor(rstd, {2})};
  aclTensor* out[] = {tensor(sum_dy, {2}), tensor(sum_dy_xmu, {2}), tensor(dw, {2}),
                      tensor(db, {2})};
  std::vector<Times> times(kCalls);
  for (Times& t : times) {
    if (!call(in, out, stream, &t)) {
      std::fprintf(stderr, "a call failed: %s\n", aclGetRecentErrMsg());
      return 1;
    }
  }
  for (const aclTensor* t : in) aclDestroyTensor(t);
  for (const aclTensor* t : out) aclDestroyTensor(t);
  if (!answers_are_right()) {
    std::fprintf(stderr, "wrong answers\n");
    return 1;
  }
  const double both = median(times, &Times::both);
  std::printf(
      "aclnnBatchNormReduceBackward, 4x2 f32, medians of %d calls: phase 1 %.2f us, "
      "phase 2 %.2f us, both %.2f us; bar %.0f us: %s\n",
      kCalls, median(times, &Times::phase1), median(times, &Times::phase2), both, kBarMicroseconds,
      both <= kBarMicroseconds ? "met" : "MISSED");
  const bool cheap = print_handle_checks();
  return both <= kBarMicroseconds && cheap ? 0 : 1;
}
