#include "aclnn/call.h"

#include <aclnnop/aclnn_batch_norm.h>
#include <aclnnop/aclnn_batch_norm_backward.h>
#include <aclnnop/aclnn_batch_norm_backward_reduce.h>
#include <aclnnop/aclnn_batch_norm_elemt.h>
#include <aclnnop/aclnn_batch_norm_elemt_backward.h>
#include <aclnnop/aclnn_batch_norm_gather_stats_with_counts.h>
#include <aclnnop/aclnn_batch_norm_stats.h>
#include <aclnnop/aclnn_fast_batch_norm_backward.h>

#include <cmath>

namespace aclnn_test {
namespace {

using namespace ops_test;  // the slots

aclDataType data_type(Format format) {
  constexpr aclDataType kTypes[] = {ACL_DT_UNDEFINED, ACL_FLOAT16, ACL_BF16,
                                    ACL_FLOAT,        ACL_DOUBLE,  ACL_INT32};
  return kTypes[static_cast<int>(format)];
}

}  // namespace

DeviceTensor::~DeviceTensor() {
  if (memory_ != nullptr) aclrtFree(memory_);
}

bool DeviceTensor::upload() {
  const std::vector<std::uint8_t>& bytes = storage_.bytes();
  if (memory_ == nullptr &&
      aclrtMalloc(&memory_, bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
    return false;
  }
  return aclrtMemcpy(memory_, bytes.size(), bytes.data(), bytes.size(),
                     ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS;
}

bool DeviceTensor::download() {
  std::vector<std::uint8_t>& bytes = storage_.bytes();
  return aclrtMemcpy(bytes.data(), bytes.size(), memory_, bytes.size(),
                     ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS;
}

// As the examples do it if packed, its storage what is viewed; else as torch_npu does, the storage
// one long row and the view somewhere in it.
aclTensor* DeviceTensor::tensor(const TensorSpec& spec, aclFormat format) const {
  const std::size_t size = facts(spec.format).bytes;
  const auto dims = static_cast<uint64_t>(spec.shape.size());
  if (spec.strides == contiguous(spec.format, spec.shape).strides) {
    auto* first = static_cast<std::uint8_t*>(memory_) + storage_.origin();
    return aclCreateTensor(spec.shape.data(), dims, data_type(spec.format), spec.strides.data(), 0,
                           format, spec.shape.data(), dims, first);
  }
  const int64_t elements[] = {
      static_cast<int64_t>(const_cast<DeviceTensor*>(this)->storage_.bytes().size() / size)};
  return aclCreateTensor(spec.shape.data(), dims, data_type(spec.format), spec.strides.data(),
                         static_cast<int64_t>(storage_.origin() / size), format, elements, 1,
                         memory_);
}

Call::Call(Case c) : case_(std::move(c)) {
  const Problem& p = case_.problem;
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    const bool shared = slot == p.big_output() && p.dx_shares != kDx;
    if (!p.has(Slot(slot)) || shared) continue;
    memory_[slot] = std::make_shared<DeviceTensor>(p.tensor[slot]);
    Storage& storage = memory_[slot]->storage();
    if (is_input(Slot(slot))) storage.write(p.value[slot]);
    storage.remember();
  }
  if (p.dx_shares != kDx && p.has(p.big_output())) memory_[p.big_output()] = memory_[p.dx_shares];
}

Call::~Call() {
  if (workspace_ != nullptr) aclrtFree(workspace_);
}

bool Call::reset() {
  for (const auto& memory : memory_) {
    if (memory == nullptr) continue;
    memory->storage().restore();
    if (!memory->upload()) return false;
  }
  return true;
}

aclTensor* Call::tensor(Slot slot) {
  const Problem& p = case_.problem;
  if (!p.has(slot) || case_.null.count(slot) != 0) return nullptr;
  const bool big = slot == kDx || slot == kDy || slot == kX || slot == kY;
  tensors_.push_back(memory_[slot]->tensor(p.tensor[slot], big ? case_.format : ACL_FORMAT_ND));
  return tensors_.back();
}

// One for each channel, all of them at one address.
aclTensor* Call::nans() {
  static float nan = std::nanf("");
  const auto channels = static_cast<int64_t>(channel_extents(case_.problem).channels);
  const int64_t stride = 0, storage = 1;
  tensors_.push_back(
      aclCreateTensor(&channels, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &storage, 1, &nan));
  return tensors_.back();
}

aclnnStatus Call::first_phase(uint64_t* bytes, aclOpExecutor** executor) {
  const Problem& p = case_.problem;
  const auto t = [&](Slot slot) { return tensor(slot); };
  switch (case_.api) {
    case Api::kBatchNormBackward:
    case Api::kFastBatchNormBackward: {
      const bool wanted[] = {p.has(kDx), p.has(kDw), p.has(kDb)};
      const std::unique_ptr<aclBoolArray, aclnnStatus (*)(const aclBoolArray*)> mask(
          aclCreateBoolArray(wanted, 3), aclDestroyBoolArray);
      aclTensor* const mean = t(kMean);
      aclTensor* const spread = p.has(kRstd) ? t(kRstd) : t(kVar);
      // What the mode does not use is null, or full of NaNs.
      aclTensor* const unused = p.has(kDw) ? nans() : nullptr;
      aclTensor* const running[] = {p.training ? unused : mean, p.training ? unused : spread};
      aclTensor* const saved[] = {p.training ? mean : unused, p.training ? spread : unused};
      if (case_.api == Api::kBatchNormBackward) {
        return aclnnBatchNormBackwardGetWorkspaceSize(
            t(kDy), t(kX), t(kW), running[0], running[1], saved[0], saved[1], p.training, p.eps,
            mask.get(), t(kDx), t(kDw), t(kDb), bytes, executor);
      }
      return aclnnFastBatchNormBackwardGetWorkspaceSize(
          t(kDy), t(kX), t(kW), running[0], running[1], saved[0], saved[1], p.training, p.eps,
          mask.get(), p.has(kDx) ? 1 : 0, t(kDx), t(kDw), t(kDb), bytes, executor);
    }
    case Api::kReduceBackward:
      return aclnnBatchNormReduceBackwardGetWorkspaceSize(
          t(kDy), t(kX), t(kMean), t(kRstd), t(kW), p.has(kSumDy), p.has(kDw), p.has(kDb),
          t(kSumDy), t(kSumDyXmu), t(kDw), t(kDb), bytes, executor);
    case Api::kElemtBackward:
      return aclnnBatchNormElemtBackwardGetWorkspaceSize(t(kDy), t(kX), t(kMean), t(kRstd), t(kW),
                                                         t(kSumDyGiven), t(kSumDyXmuGiven),
                                                         t(kCounts), t(kDx), bytes, executor);
    case Api::kBatchNorm:
      return aclnnBatchNormGetWorkspaceSize(
          t(kX), t(kW), t(kB), t(p.training ? kRunningMean : kMean),
          t(p.training ? kRunningVar : kVar), p.training, p.momentum, p.eps, t(kY), t(kMeanOut),
          t(p.has(kVarOut) ? kVarOut : kRstdOut), bytes, executor);
    case Api::kElemt:
      return aclnnBatchNormElemtGetWorkspaceSize(t(kX), t(kW), t(kB), t(kMean), t(kRstd), p.eps,
                                                 t(kY), bytes, executor);
    case Api::kStats:
      return aclnnBatchNormStatsGetWorkspaceSize(t(kX), p.eps, t(kMeanOut), t(kRstdOut), bytes,
                                                 executor);
    case Api::kGatherStats:
      break;
  }
  // Its input only tells the number of channels, and has no address.
  const int64_t shape[] = {2, p.tensor[kMean].shape[1]};
  tensors_.push_back(
      aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr));
  return aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
      tensors_.back(), t(kMean), t(kRstd), t(kRunningMean), t(kRunningVar), p.momentum, p.eps,
      t(kCounts), t(kMeanOut), t(kRstdOut), bytes, executor);
}

aclnnStatus Call::second_phase(uint64_t bytes, aclOpExecutor* executor, aclrtStream stream) {
  constexpr decltype(&aclnnBatchNorm) kRun[] = {aclnnBatchNormBackward,
                                                aclnnFastBatchNormBackward,
                                                aclnnBatchNormReduceBackward,
                                                aclnnBatchNormElemtBackward,
                                                aclnnBatchNorm,
                                                aclnnBatchNormElemt,
                                                aclnnBatchNormStats,
                                                aclnnBatchNormGatherStatsWithCounts};
  return kRun[static_cast<int>(case_.api)](workspace_, bytes, executor, stream);
}

void Call::destroy_tensors() {
  for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
  tensors_.clear();
}

std::string Call::start(aclrtStream stream) {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  int code = first_phase(&bytes, &executor);
  if (code != 0) return destroy_tensors(), complaint("phase 1", code);
  if (bytes > workspace_bytes_) {
    if (workspace_ != nullptr) return "the workspace grew between two calls of one case";
    code = aclrtMalloc(&workspace_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (code != 0) return complaint("aclrtMalloc", code);
    workspace_bytes_ = bytes;
  }
  code = second_phase(bytes, executor, stream);
  destroy_tensors();
  return code == 0 ? "" : complaint("phase 2", code);
}

Outputs Call::finish() {
  const Problem& p = case_.problem;
  Outputs out;
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (memory_[slot] == nullptr) continue;
    if (!memory_[slot]->download()) return {{}, complaint("aclrtMemcpy", -1)};
    const bool writable = is_output(Slot(slot)) || slot == p.dx_shares;
    const std::string change = memory_[slot]->storage().changes(writable);
    if (!change.empty()) out.failure += std::string(ops_test::name(Slot(slot))) + ": " + change;
    if (is_output(Slot(slot))) out.bits[slot] = memory_[slot]->storage().read();
  }
  return out;
}

std::string complaint(const char* function, int code) {
  const char* message = aclGetRecentErrMsg();
  return std::string(function) + " returned " + std::to_string(code) + ": " +
         (message == nullptr ? "" : message);
}

}  // namespace aclnn_test
