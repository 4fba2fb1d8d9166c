// Bytes are ranks, extents, strides, data types and nulls for one create and run of any operator of either family. The
// status is the one of a validator that is written from the documents, apart from the library; what is accepted runs on
// memory that ends where nobody may read or write.
#include "describe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  if (bytes.below(3) == 2) {
    fuzz::describe_infiniop(bytes);
  } else {
    fuzz::describe_aclnn(bytes);
  }
  return 0;
}
