// The operators behind one face, so that one table of provocations runs against all of them.
#ifndef TESTS_API_OPERATOR_TABLE_H
#define TESTS_API_OPERATOR_TABLE_H

#include <cstddef>
#include <string>
#include <vector>

#include "infiniop.h"

namespace api_test {

// kData: all dimensions. kVector: one number per channel or column. kPerRow: the leading
// dimensions.
enum class Form { kData, kVector, kPerRow };

struct Argument {
  const char* name;
  Form form;
  bool output;
  bool optional = false;
};

// What is asked of the strides of data. kUnitLastAlways: even where they mean nothing.
enum class Layout { kAny, kUnitLast, kUnitLastAlways, kContiguous };

struct Operator {
  std::string name;
  std::size_t vector_dim;           // the dimension of a rank-3 data tensor that vectors run along
  std::vector<Argument> arguments;  // in the order of the prototypes
  infiniStatus_t (*create)(infiniopHandle_t, InfiniopDescriptor**,
                           const infiniopTensorDescriptor_t*);
  infiniStatus_t (*workspace_size)(InfiniopDescriptor*, std::size_t*);
  infiniStatus_t (*compute)(InfiniopDescriptor*, void*, std::size_t, void* const*);
  infiniStatus_t (*destroy)(InfiniopDescriptor*);
  Layout layout = Layout::kUnitLast;
  std::size_t least_rank = 1, most_rank = 8;
  bool takes_any_weights = false;  // vectors of another type than the data

  std::string create_name() const { return "infiniopCreate" + name + "Descriptor"; }
  std::string workspace_size_name() const { return "infiniopGet" + name + "WorkspaceSize"; }
  std::string compute_name() const { return "infiniop" + name; }
  std::string destroy_name() const { return "infiniopDestroy" + name + "Descriptor"; }
  std::size_t find(const char* argument) const;
};

const Operator& batch_norm();
const Operator& layer_norm();
const Operator& rms_norm();
const Operator& batch_norm_forward();
const Operator& layer_norm_forward();
const Operator& rms_norm_forward();
const Operator& add_rms_norm();
const std::vector<const Operator*>& operators();

}  // namespace api_test

#endif
