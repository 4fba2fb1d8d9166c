// What can be wrong in a call of phase 1, in tables: what, the code, the argument that the sentence
// names.
#ifndef TESTS_API_ACLNN_REFUSALS_H
#define TESTS_API_ACLNN_REFUSALS_H

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/aclnn/operators.h"

namespace aclnn_test {

inline const std::vector<int64_t> kShape{2, 3, 4};

// A call that would succeed, until it is spoilt.
struct Call {
  std::vector<Spec> specs;
  std::map<std::size_t, aclTensor*> replaced;  // passed instead of a tensor with specs[i]
  Attributes attributes;

  Spec& operator()(const Operator& op, const std::string& argument) {
    return specs[op.find(argument)];
  }
};

struct Refusal {
  std::string what;
  int code;
  std::string argument;
  std::function<void(Call&)> spoil;
};

// Every argument of the operator, in every way that is wrong for all of them.
std::vector<Refusal> refusals_of_tensors(const Operator& op);
// What is special to one operator, and which of two mistakes is found first.
std::vector<Refusal> refusals_of(const Operator& op);

// Makes the call: refused, with nothing written. The data has shape kShape unless it is changed.
void expect_refused(const Operator& op, const Refusal& refusal);
// Makes the call; the code of phase 1. An executor is destroyed.
int code_of(const Operator& op, const Call& call);

Call valid_call(const Operator& op, const std::vector<int64_t>& shape = kShape);

}  // namespace aclnn_test

#endif
