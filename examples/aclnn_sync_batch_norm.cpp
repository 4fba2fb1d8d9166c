// SyncBatchNorm: a batch spread over two devices is normalized as one. Each device is a thread with
// its own stream (and its own device id, if NORMGRAD_DEVICES=2 or more are there) and holds 3 and 5
// of 8 samples. Forward and backward are compared with BatchNorm of the whole batch on one device.
//
//   forward    Stats of each part -> gather -> GatherStatsWithCounts -> Elemt
//   backward   ReduceBackward of each part -> add up the sums -> ElemtBackward
#include <acl/acl.h>
#include <aclnnop/aclnn_ops_nn.h>

#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "acl_example.h"

using namespace example;
typedef std::vector<float> Floats;

namespace {

const int kDevices = 2;
const int64_t kSamples[kDevices] = {3, 5};
const int64_t kChannels = 3, kLength = 50;
const int64_t kAllSamples = kSamples[0] + kSamples[1];
const double kEps = 1e-5, kMomentum = 0.1;
const std::vector<int64_t> kPerChannel = {kChannels};

// Stands for the communication between devices: every device gives its piece and gets all of them,
// in the order of the devices.
class AllGather {
 public:
  Floats operator()(int device, const Floats& piece) {
    std::unique_lock<std::mutex> lock(mutex_);
    pieces_[device] = piece;
    const int round = round_;
    if (++arrived_ == kDevices) {
      together_.clear();
      for (const Floats& p : pieces_) together_.insert(together_.end(), p.begin(), p.end());
      arrived_ = 0;
      ++round_;
      all_arrived_.notify_all();
    }
    all_arrived_.wait(lock, [&] { return round_ != round; });
    return together_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  Floats pieces_[kDevices], together_;
  int arrived_ = 0, round_ = 0;
};

// Both parts, one channel after the other: the sum over devices.
Floats add_up(const Floats& gathered) {
  Floats sum(kChannels, 0.0f);
  for (std::size_t i = 0; i < gathered.size(); ++i) sum[i % sum.size()] += gathered[i];
  return sum;
}

struct Result {
  Floats output, mean, invstd, running_var, grad_input, grad_weight, grad_bias;
};

struct Data {
  Floats input, grad_out, weight, bias;
};

Floats part(const Floats& all, int index) {
  const int64_t first = index == 0 ? 0 : kSamples[0], size = kChannels * kLength;
  return Floats(all.begin() + first * size, all.begin() + (first + kSamples[index]) * size);
}

// Numbers without a pattern.
Data make_data() {
  Data d;
  uint32_t state = 1;
  auto draw = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f;
  };
  for (int64_t i = 0; i < kAllSamples * kChannels * kLength; ++i) {
    d.input.push_back(3.0f * draw());
    d.grad_out.push_back(draw() - 0.5f);
  }
  d.weight = {1.0f, 2.0f, 0.5f};
  d.bias = {0.0f, 1.0f, -1.0f};
  return d;
}

// One device and its part of the batch.
class Part {
 public:
  Part(const Data& all, int index, int32_t device_id, AllGather& all_gather)
      : index_(index),
        all_gather_(all_gather),
        device_(device_id),
        shape_({kSamples[index], kChannels, kLength}),
        input_(shape_, part(all.input, index)),
        grad_out_(shape_, part(all.grad_out, index)),
        weight_(kPerChannel, all.weight),
        bias_(kPerChannel, all.bias),
        counts_({kDevices}, gather({static_cast<float>(kSamples[index] * kLength)})),
        mean_(kPerChannel),
        invstd_(kPerChannel) {}

  void forward(Result* result) {
    const Tensor mean(kPerChannel), invstd(kPerChannel);
    must(aclnnBatchNormStatsGetWorkspaceSize(input_, kEps, mean, invstd, &bytes_, &executor_));
    device_.run(aclnnBatchNormStats, bytes_, executor_);

    const Tensor means({kDevices, kChannels}, gather(mean.values()));
    const Tensor invstds({kDevices, kChannels}, gather(invstd.values()));
    const Tensor running_mean(kPerChannel, {0, 0, 0}), running_var(kPerChannel, {1, 1, 1});
    must(aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(input_, means, invstds, running_mean,
                                                             running_var, kMomentum, kEps, counts_,
                                                             mean_, invstd_, &bytes_, &executor_));
    device_.run(aclnnBatchNormGatherStatsWithCounts, bytes_, executor_);

    const Tensor output(shape_);
    must(aclnnBatchNormElemtGetWorkspaceSize(input_, weight_, bias_, mean_, invstd_, kEps, output,
                                             &bytes_, &executor_));
    device_.run(aclnnBatchNormElemt, bytes_, executor_);
    result->mean = mean_.values();
    result->invstd = invstd_.values();
    result->running_var = running_var.values();
    result->output = output.values();
  }

  void backward(Result* result) {
    const Tensor sum_dy(kPerChannel), sum_dy_xmu(kPerChannel);
    const Tensor grad_weight(kPerChannel), grad_bias(kPerChannel);
    must(aclnnBatchNormReduceBackwardGetWorkspaceSize(grad_out_, input_, mean_, invstd_, weight_,
                                                      true, true, true, sum_dy, sum_dy_xmu,
                                                      grad_weight, grad_bias, &bytes_, &executor_));
    device_.run(aclnnBatchNormReduceBackward, bytes_, executor_);

    const Tensor all_dy(kPerChannel, add_up(gather(sum_dy.values())));
    const Tensor all_dy_xmu(kPerChannel, add_up(gather(sum_dy_xmu.values())));
    const Tensor grad_input(shape_);
    must(aclnnBatchNormElemtBackwardGetWorkspaceSize(grad_out_, input_, mean_, invstd_, weight_,
                                                     all_dy, all_dy_xmu, counts_, grad_input,
                                                     &bytes_, &executor_));
    device_.run(aclnnBatchNormElemtBackward, bytes_, executor_);
    result->grad_input = grad_input.values();
    result->grad_weight = add_up(gather(grad_weight.values()));
    result->grad_bias = add_up(gather(grad_bias.values()));
  }

 private:
  Floats gather(const Floats& piece) { return all_gather_(index_, piece); }

  const int index_;
  AllGather& all_gather_;
  const Device device_;
  const std::vector<int64_t> shape_;
  const Tensor input_, grad_out_, weight_, bias_, counts_;
  const Tensor mean_, invstd_;  // of the whole batch
  uint64_t bytes_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

// All of it on one device.
Result whole(const Data& all) {
  const Device device;
  const std::vector<int64_t> shape = {kAllSamples, kChannels, kLength};
  const Tensor input(shape, all.input), grad_out(shape, all.grad_out);
  const Tensor weight(kPerChannel, all.weight), bias(kPerChannel, all.bias);
  const Tensor running_mean(kPerChannel, {0, 0, 0}), running_var(kPerChannel, {1, 1, 1});
  const Tensor output(shape), mean(kPerChannel), invstd(kPerChannel);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  must(aclnnBatchNormGetWorkspaceSize(input, weight, bias, running_mean, running_var, true,
                                      kMomentum, kEps, output, mean, invstd, &bytes, &executor));
  device.run(aclnnBatchNorm, bytes, executor);

  const Tensor grad_input(shape), grad_weight(kPerChannel), grad_bias(kPerChannel);
  const bool all_three[] = {true, true, true};
  aclBoolArray* mask = aclCreateBoolArray(all_three, 3);
  must(aclnnBatchNormBackwardGetWorkspaceSize(grad_out, input, weight, running_mean, running_var,
                                              mean, invstd, true, kEps, mask, grad_input,
                                              grad_weight, grad_bias, &bytes, &executor));
  must(aclDestroyBoolArray(mask));
  device.run(aclnnBatchNormBackward, bytes, executor);
  Floats saved = invstd.values();
  if (std::strstr(aclrtGetSocName(), "910B") != nullptr) {  // there it is the variance
    for (float& value : saved) value = static_cast<float>(1 / std::sqrt(value + kEps));
  }
  return {output.values(),      mean.values(),     saved, running_var.values(), grad_input.values(),
          grad_weight.values(), grad_bias.values()};
}

// A line of the table; 1 if the largest difference is too large: more than 2^-21 of the largest
// magnitude, since between the steps everything was rounded to f32.
int compare(const char* name, const Floats& two_devices, const Floats& one_device) {
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < one_device.size(); ++i) {
    const double one = one_device[i], two = two_devices[i];
    magnitude = std::fmax(magnitude, std::fabs(one));
    difference = std::fmax(difference, std::fabs(two - one));
  }
  const double allowed = std::ldexp(magnitude, -21);
  const bool fine = two_devices.size() == one_device.size() && difference <= allowed;
  std::printf("%-12s %9zu %13.6f %13.6f %12.1e %10.1e%s\n", name, one_device.size(),
              static_cast<double>(two_devices[0]), static_cast<double>(one_device[0]), difference,
              allowed, fine ? "" : "  WRONG");
  return fine ? 0 : 1;
}

Floats join(const Floats& a, const Floats& b) {
  Floats both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

}  // namespace

int main() {
  const Session session;
  const Data data = make_data();
  uint32_t device_count = 0;
  must(aclrtGetDeviceCount(&device_count));

  AllGather all_gather;
  Result parts[kDevices];
  std::vector<std::thread> threads;
  for (int i = 0; i < kDevices; ++i) {
    const int32_t device_id = static_cast<int32_t>(static_cast<uint32_t>(i) % device_count);
    std::printf("device %d (device id %d): %d of %d samples\n", i, static_cast<int>(device_id),
                static_cast<int>(kSamples[i]), static_cast<int>(kAllSamples));
    threads.emplace_back([&, i, device_id] {
      Part one_part(data, i, device_id, all_gather);
      one_part.forward(&parts[i]);
      one_part.backward(&parts[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Result one = whole(data);

  std::printf("%-12s %9s %13s %13s %12s %10s\n", "", "elements", "first of two", "first of one",
              "largest diff", "allowed");
  int errors = compare("mean", parts[1].mean, one.mean);
  errors += compare("invstd", parts[1].invstd, one.invstd);
  errors += compare("runningVar", parts[1].running_var, one.running_var);
  errors += compare("output", join(parts[0].output, parts[1].output), one.output);
  errors += compare("gradInput", join(parts[0].grad_input, parts[1].grad_input), one.grad_input);
  errors += compare("gradWeight", parts[0].grad_weight, one.grad_weight);
  errors += compare("gradBias", parts[0].grad_bias, one.grad_bias);
  if (parts[0].mean != parts[1].mean || parts[0].invstd != parts[1].invstd) {
    std::printf("the devices disagree on the statistics\n");
    ++errors;
  }
  return errors;
}
