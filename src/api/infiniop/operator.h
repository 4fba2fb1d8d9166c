// The four functions that every operator has, written once. An operator's file has its row of the table: the names and the
// order of its tensors, and which argument of the formula each of them is.
#ifndef NORMGRAD_API_INFINIOP_OPERATOR_H
#define NORMGRAD_API_INFINIOP_OPERATOR_H

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "infiniop/operator_descriptor.h"
#include "normgrad/problem.h"
#include "runtime/handle_registry.h"

namespace normgrad::api {

// Data tensors have all dimensions; the others are vectors or one number per row. kOptional: may be null, and is no data.
enum class Role { kData, kOther, kOptional };

struct Row {
  const char* name;
  Arg arg;
  Role role;
};

// What the interface document asks of an operator's data tensors beyond what its mathematics needs.
enum class Layout { kAny, kUnitLastStride, kUnitLastStrideAlways, kContiguous };
struct DataRule {
  int min_rank;
  int max_rank;
  Layout layout;
};

// All of one data type; or, beside data of 16 bits, parameters of 16 bits or F32.
enum class DataTypes { kOne, kAnyWeightsOfHalves };

struct Spec {
  Op op;
  DataRule data;
  std::span<const Row> rows;  // in the order of the prototypes
  DataTypes types = DataTypes::kOne;
  bool has_small_eps = false;  // above 0, at most 1
};

struct Attributes {
  float eps = 0, momentum = 0;
};

infiniStatus_t create_operator(const char* name, const Spec& spec, infiniopHandle_t handle,
                               InfiniopDescriptor** desc_ptr,
                               std::span<const infiniopTensorDescriptor_t> descs,
                               const Attributes& attributes = {});
infiniStatus_t get_workspace_size(const char* name, const Spec& spec, InfiniopDescriptor* desc,
                                  std::size_t* size);
infiniStatus_t run_operator(const char* name, const Spec& spec, InfiniopDescriptor* desc,
                            void* workspace, std::size_t workspace_size,
                            std::span<const void* const> addresses);
infiniStatus_t destroy_operator(const char* name, const Spec& spec, InfiniopDescriptor* desc);

// As many of a prototype's arguments as its row has names.
template <const Spec& kSpec, class... Arguments>
constexpr auto in_order(Arguments... arguments) {
  static_assert(sizeof...(arguments) == kSpec.rows.size());
  return std::array<std::common_type_t<Arguments...>, sizeof...(arguments)>{arguments...};
}

}  // namespace normgrad::api

#endif
