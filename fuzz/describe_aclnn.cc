// The eight aclnn operators: both phases on what bytes describe.
#include <aclnn/acl_meta.h>

#include <sstream>

#include "aclnn_call.h"
#include "describe.h"

namespace fuzz {
namespace aclnn {
namespace {

std::string text(const Call& call) {
  std::ostringstream out;
  out << "operator " << static_cast<int>(call.api);
  for (const Draft& t : call.t) {
    out << "\n  ";
    if (t.null) {
      out << "null";
      continue;
    }
    out << "type " << t.dtype << " format " << t.format << " offset " << t.offset
        << " shape/strides";
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      out << " " << t.shape[d] << "/" << t.strides[d];
  }
  return out.str();
}

}  // namespace
}  // namespace aclnn

using namespace aclnn;  // NOLINT: the rest of this file

void describe_aclnn(Bytes& bytes) {
  static Guarded memory[10];
  static const bool ready = aclrtSetDevice(0) == ACL_SUCCESS;
  expect(ready, "aclrtSetDevice");
  const Call call = make_call(bytes);
  std::vector<aclTensor*> tensors;
  bool fits = true;  // into memory that we can give
  for (std::size_t i = 0; i < call.t.size(); ++i) {
    const Draft& t = call.t[i];
    const std::size_t bytes_each = is_listed(t.dtype) && t.dtype != ACL_FLOAT ? 2 : 4;
    const bool placed = t.is_small() && t.lowest() >= 0;
    if (call.is_given(i)) fits = fits && placed;
    void* const address = placed ? memory[i].place(t, bytes_each, !bytes.one_in(4)) : memory + i;
    tensors.push_back(t.null ? nullptr
                             : aclCreateTensor(t.shape.data(), t.shape.size(),
                                               static_cast<aclDataType>(t.dtype), t.strides.data(),
                                               t.offset, static_cast<aclFormat>(t.format),
                                               t.storage.data(), t.storage.size(), address));
    expect(t.null || tensors.back() != nullptr, "aclCreateTensor");
  }
  bool wanted[8] = {};
  std::copy(call.wanted.begin(), call.wanted.end(), wanted);
  aclBoolArray* const mask =
      call.mask_is_null ? nullptr : aclCreateBoolArray(wanted, call.wanted.size());
  std::uint64_t size = 77;
  aclOpExecutor* made = nullptr;
  const int code = first_phase(call.api, tensors, {call.training, call.wanted, mask}, &size, &made);
  for (aclTensor* t : tensors) expect(aclDestroyTensor(t) == 0, "aclDestroyTensor");
  expect(aclDestroyBoolArray(mask) == 0, "aclDestroyBoolArray");
  const char* sentence = code == 0 ? "" : aclGetRecentErrMsg();
  expect(sentence != nullptr, "a refusal without a sentence");
  const std::optional<int> expected = expected_code(call);
  expect(!expected.has_value() || code == *expected,
         "phase 1 returned " + std::to_string(code) + ", the validator says " +
             std::to_string(expected.value_or(0)) + "\n" + sentence + "\n" + text(call));
  if (code != 0) {
    expect(code == 161001 || code == 161002, "phase 1 returned " + std::to_string(code));
    expect(size == 77 && made == nullptr, "phase 1 wrote on refusal");
    return;
  }
  if (!fits) {
    expect(aclDestroyAclOpExecutor(made) == 0, "aclDestroyAclOpExecutor");
    return;
  }
  static Guarded workspace;
  const int done = second_phase(call.api, workspace.last(size), size, made, nullptr);
  expect(done == 0, "an accepted call failed: " + std::to_string(done) + "\n" + text(call));
  expect(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS, "its work failed\n" + text(call));
}

}  // namespace fuzz
