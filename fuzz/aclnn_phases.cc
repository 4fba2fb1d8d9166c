#include "aclnn_phases.h"

#include <aclnnop/aclnn_ops_nn.h>

namespace fuzz::aclnn {
namespace {

constexpr Argument kIn{Form::kData, false, true}, kOut{Form::kData, true, true},
    kVector{Form::kChannels, false, true}, kVectorOut{Form::kChannels, true, true},
    kOptional{Form::kChannels, false, false}, kUpdated{Form::kChannels, true, false};

}  // namespace

std::vector<Argument> arguments(Api api) {
  switch (api) {
    case Api::kBatchNorm:
      return {kIn, kOptional, kOptional, kUpdated, kUpdated, kOut, kVectorOut, kVectorOut};
    case Api::kBackward:
    case Api::kFastBackward:
      return {kIn,       kIn,       kOptional, kOptional,  kOptional,
              kOptional, kOptional, kOut,      kVectorOut, kVectorOut};
    case Api::kReduce:
      return {kIn,        kIn,        kVector,    kVector,   kOptional,
              kVectorOut, kVectorOut, kVectorOut, kVectorOut};
    case Api::kElemtBackward:
      return {kIn,       kIn,     kVector, kVector,
              kOptional, kVector, kVector, {Form::kCounter, false, true},
              kOut};
    case Api::kStats:
      return {kIn, kVectorOut, kVectorOut};
    case Api::kGather:
      return {kIn,
              {Form::kRows, false, true},
              {Form::kRows, false, true},
              kUpdated,
              kUpdated,
              {Form::kCounts, false, true},
              kVectorOut,
              kVectorOut};
    default:
      return {kIn, kOptional, kOptional, kVector, kVector, kOut};
  }
}

int first_phase(Api api, const std::vector<aclTensor*>& t, const Flags& flags, std::uint64_t* size,
                aclOpExecutor** made) {
  const auto& w = flags.wanted;
  switch (api) {
    case Api::kBatchNorm:
      return aclnnBatchNormGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], flags.training, 0.1, 1e-5,
                                            t[5], t[6], t[7], size, made);
    case Api::kBackward:
      return aclnnBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                    flags.training, 1e-5, flags.mask, t[7], t[8],
                                                    t[9], size, made);
    case Api::kFastBackward:
      return aclnnFastBatchNormBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                        flags.training, 1e-5, flags.mask, 0, t[7],
                                                        t[8], t[9], size, made);
    case Api::kReduce:
      return aclnnBatchNormReduceBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], w[0], w[1],
                                                          w[2], t[5], t[6], t[7], t[8], size, made);
    case Api::kElemtBackward:
      return aclnnBatchNormElemtBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                                         t[7], t[8], size, made);
    case Api::kStats:
      return aclnnBatchNormStatsGetWorkspaceSize(t[0], 1e-5, t[1], t[2], size, made);
    case Api::kGather:
      return aclnnBatchNormGatherStatsWithCountsGetWorkspaceSize(
          t[0], t[1], t[2], t[3], t[4], 0.1, 1e-5, t[5], t[6], t[7], size, made);
    default:
      return aclnnBatchNormElemtGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], 1e-5, t[5], size,
                                                 made);
  }
}

int second_phase(Api api, void* workspace, std::uint64_t size, aclOpExecutor* made, void* stream) {
  switch (api) {
    case Api::kBatchNorm:
      return aclnnBatchNorm(workspace, size, made, stream);
    case Api::kBackward:
      return aclnnBatchNormBackward(workspace, size, made, stream);
    case Api::kFastBackward:
      return aclnnFastBatchNormBackward(workspace, size, made, stream);
    case Api::kReduce:
      return aclnnBatchNormReduceBackward(workspace, size, made, stream);
    case Api::kElemtBackward:
      return aclnnBatchNormElemtBackward(workspace, size, made, stream);
    case Api::kStats:
      return aclnnBatchNormStats(workspace, size, made, stream);
    case Api::kGather:
      return aclnnBatchNormGatherStatsWithCounts(workspace, size, made, stream);
    default:
      return aclnnBatchNormElemt(workspace, size, made, stream);
  }
}

}  // namespace fuzz::aclnn
