// The operators behind one face, so that one table of provocations runs against all of them.
#ifndef TESTS_API_ACLNN_OPERATOR_TABLE_H
#define TESTS_API_ACLNN_OPERATOR_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/normgrad_errors.h"
#include "aclnnop/aclnn_ops_nn.h"

namespace aclnn_test {

// kData: all dimensions. kChannels: one number per channel. kTable: one per device and channel.
// kDevices: one per device. Of row norms kRow: the last dimension, kPerRow: the others, kSegments: all but the last of these.
// kGroups: one per sample and channel, which is a group of its own.
enum class Form { kData, kChannels, kTable, kDevices, kRow, kPerRow, kSegments, kGroups };

struct Argument {
  const char* name;
  Form form;
  bool output = false;
  bool optional = false;
  bool is_float = false;  // FLOAT, whatever the type of the data
};

// All that is no tensor.
struct Attributes {
  bool training = true;
  double momentum = 0.1;
  double eps = 1e-5;
  bool wanted[3] = {true, true, true};  // inputG, weightG, biasG
  const aclBoolArray* mask = nullptr;
  int version = 0;
  const aclIntArray* normalized = nullptr;
  std::int64_t n = 2, c = 3, l = 4, group = 3;  // the sizes of data, every channel a group
};
// With the sizes of this data.
Attributes attributes_for(const std::vector<int64_t>& shape);

struct Operator {
  using PhaseOne = aclnnStatus (*)(aclTensor* const*, const Attributes&, uint64_t*,
                                   aclOpExecutor**);
  using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

  std::string name;
  std::vector<Argument> arguments;  // inputs in the order of the prototype, then outputs
  PhaseOne phase_one;
  PhaseTwo phase_two;
  bool is_row_norm = false;
  bool takes_normalized_shape = false;
  std::size_t least_rank = 2;
  int shape_code = ACLNN_ERR_PARAM_INVALID;  // of shapes that do not fit each other
  int null_output_code = ACLNN_ERR_PARAM_NULLPTR;

  std::string phase_one_name() const { return name + "GetWorkspaceSize"; }
  std::size_t find(const std::string& argument) const;
  bool has(const std::string& argument) const;
  std::size_t inputs() const;
};

const Operator& batch_norm();
const Operator& batch_norm_backward();
const Operator& fast_batch_norm_backward();
const Operator& reduce_backward();
const Operator& elemt();
const Operator& elemt_backward();
const Operator& stats();
const Operator& gather_stats();
const Operator& batch_norm_reduce();
const Operator& gather_sums();
const Operator& group_norm();
const Operator& group_norm_backward();
// Of row norms: all of them.
const std::vector<const Operator*>& row_norms();
const Operator& row_norm(const std::string& name);
const std::vector<const Operator*>& operators();

// As Attributes want them: all outputs wanted; the row of data whose last extent is 4. Made once.
const aclBoolArray* all_wanted();
const aclIntArray* row_of_four();

}  // namespace aclnn_test

#endif
