#include "aclnn_call.h"

#include <algorithm>

namespace fuzz::aclnn {
Call make_call(Bytes& bytes) {
  Call call;
  call.api = bytes.pick({Api::kBackward, Api::kReduce, Api::kBatchNorm, Api::kFastBackward,
                         Api::kElemtBackward, Api::kStats, Api::kGather, Api::kElemt});
  call.arguments = arguments(call.api);
  call.training = !bytes.one_in(3);
  call.wanted = {!bytes.one_in(4), !bytes.one_in(4), !bytes.one_in(4)};
  const int format = bytes.pick<int>({ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC,
                                      ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC, ACL_FORMAT_NCL});
  Extents shape(2 + bytes.below(5));
  for (std::int64_t& n : shape) n = bytes.pick<std::int64_t>({2, 3, 1, 4, 5, 7, 0, 9, 17});
  while (contiguous(shape)[0] * shape[0] > 2000) *std::max_element(shape.begin(), shape.end()) = 1;
  const int dtype = bytes.pick<int>({ACL_FLOAT, ACL_FLOAT16, ACL_BF16});
  const bool by_format =
      call.api == Api::kBatchNorm || call.api == Api::kBackward || call.api == Api::kFastBackward;
  const bool last = by_format && (format == ACL_FORMAT_NHWC || format == ACL_FORMAT_NDHWC);
  call.channels = last ? shape.back() : shape[1];
  call.rows = bytes.pick<std::int64_t>({2, 1, 3, 0});
  const int of_vectors = bytes.one_in(3) ? dtype : ACL_FLOAT;
  for (const Argument& argument : call.arguments) {
    Extents of_form;
    switch (argument.form) {
      case Form::kData:
        of_form = shape;
        break;
      case Form::kChannels:
        of_form = {call.channels};
        break;
      case Form::kRows:
        of_form = {call.rows, call.channels};
        break;
      default:
        of_form = {call.rows};
    }
    Draft t = draft(bytes, of_form);
    const bool data = argument.form == Form::kData;
    t.dtype = data || call.api == Api::kElemt ? dtype : of_vectors;
    if (argument.form == Form::kCounter) t.dtype = bytes.pick<int>({ACL_FLOAT, ACL_INT32});
    if (bytes.one_in(60)) t.dtype = static_cast<std::int8_t>(bytes.byte());
    t.format = data ? format : ACL_FORMAT_ND;
    if (bytes.one_in(60)) t.format = static_cast<std::int8_t>(bytes.byte());
    if (bytes.one_in(8)) t.offset = bytes.pick<std::int64_t>({1, 3, 16, -1, INT64_MAX});
    if (bytes.one_in(4) && t.is_small()) {
      const auto needed = t.is_empty() ? 0 : static_cast<std::int64_t>(t.highest()) + t.offset + 1;
      t.storage = {bytes.one_in(8) ? needed - 1 : needed};
    }
    t.null = bytes.one_in(argument.required ? 80 : 4);
    call.t.push_back(std::move(t));
  }
  call.mask_is_null = bytes.one_in(40);
  if (bytes.one_in(40)) call.wanted.resize(bytes.below(5));
  if (call.wanted.size() != 3 && !(call.api == Api::kBackward || call.api == Api::kFastBackward)) {
    call.wanted.resize(3);
  }
  return call;
}

}  // namespace fuzz::aclnn
