// Plain problems for tests that are about something else: every argument present, packed, ordinary
// values.
#ifndef TESTS_OPS_EXAMPLES_H
#define TESTS_OPS_EXAMPLES_H

#include <string>

#include "ops/problem.h"
#include "ops/values.h"

namespace ops_test {

// The forms an operator comes in: which statistics are given.
enum class Form {
  kLayerNormOfXHat,
  kLayerNormOfX,
  kRmsNorm,
  kRmsNormOfRstd,
  kBatchNormTraining,
  kBatchNormInference,
  kBatchNormSums,
  kElemtBackward,
  kForwardTraining,
  kForwardGiven,
  kGatherStats,
  kLayerNormForward,
  kRmsNormForward
};
inline constexpr Form kForms[] = {Form::kLayerNormOfXHat,   Form::kLayerNormOfX,
                                  Form::kRmsNorm,           Form::kRmsNormOfRstd,
                                  Form::kBatchNormTraining, Form::kBatchNormInference};
// What several devices share, and the forward. GatherStats has no big tensors.
inline constexpr Form kSyncForms[] = {Form::kBatchNormSums, Form::kElemtBackward,
                                      Form::kForwardTraining, Form::kForwardGiven};
inline constexpr Form kNormForms[] = {
    Form::kLayerNormOfXHat, Form::kLayerNormOfX,      Form::kRmsNorm,
    Form::kRmsNormOfRstd,   Form::kBatchNormTraining, Form::kBatchNormInference,
    Form::kBatchNormSums,   Form::kElemtBackward,     Form::kForwardTraining,
    Form::kForwardGiven,    Form::kLayerNormForward,  Form::kRmsNormForward};
inline constexpr Form kRowForwardForms[] = {Form::kLayerNormForward, Form::kRmsNormForward};
const char* name(Form form);
bool is_batch_norm(Form form);

// Parameters have the data's format if `same`, else f32; statistics are f32. No values yet.
// The shape of GatherStats is (devices, channels).
Problem layout(Form form, Format data, std::vector<std::int64_t> shape,
               bool same_parameters = true);

Problem example(Form form, Format data, std::vector<std::int64_t> shape, std::uint64_t seed = 1,
                DataClass data_class = DataClass::kNormal);

// "rms_norm f16 (3,5)": for SCOPED_TRACE.
std::string title(const Problem& problem);

}  // namespace ops_test

#endif
