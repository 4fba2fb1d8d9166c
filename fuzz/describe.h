// One operator of a family, described by bytes: its status checked, and run if it was accepted.
#ifndef FUZZ_DESCRIBE_H
#define FUZZ_DESCRIBE_H

#include "bytes.h"

namespace fuzz {

void describe_infiniop(Bytes& bytes);
void describe_aclnn(Bytes& bytes);

}  // namespace fuzz

#endif
