// Codes of the ACL family, and what every call of a program is held to.
#ifndef FUZZ_ACL_STATUS_H
#define FUZZ_ACL_STATUS_H

#include <acl/acl.h>

#include "slots.h"

namespace fuzz {

inline constexpr int kNull = ACL_ERROR_INVALID_PARAM, kDead = ACL_ERROR_RT_INVALID_HANDLE,
                     kNoContext = ACL_ERROR_RT_CONTEXT_NULL;
inline constexpr int kNullPointer = 161001, kInvalid = 161002, kRuntime = 361001, kInner = 561000,
                     kInnerNull = 561103;

// The code is the model's, and a refusal has a sentence.
inline void expect_status(const char* call, int got, int expected) {
  const char* const sentence = got != 0 ? aclGetRecentErrMsg() : "";
  if (got != expected && sentence != nullptr) std::fprintf(stderr, "%s\n", sentence);
  expect_code(call, got, expected);
  expect(sentence != nullptr, std::string(call) + ": no sentence");
}

}  // namespace fuzz

#endif
