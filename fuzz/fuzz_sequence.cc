// Bytes are a program of API calls over slots of handles: created, destroyed, destroyed twice, used when dead, of the
// wrong kind, phases in any order, finalize and init again. Every status is the one that a small model predicts; every
// refusal has a sentence; at the end everything that lives can be released. One family per program: they share device
// memory, and neither model knows what the other has freed.
#include "acl_program.h"
#include "infini_program.h"

namespace {

template <class Program>
void run(fuzz::Bytes& bytes) {
  Program program(bytes);
  for (int steps = 0; steps < 400 && !bytes.empty(); ++steps) program.step();
  program.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  if (bytes.below(4) == 3) {
    run<fuzz::InfiniProgram>(bytes);
  } else {
    run<fuzz::AclProgram>(bytes);
  }
  return 0;
}
