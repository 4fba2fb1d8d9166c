// What the process environment asks of us. Read once, when first needed; a bad value is reported
// and ignored.
#ifndef NORMGRAD_CORE_ENVIRONMENT_H
#define NORMGRAD_CORE_ENVIRONMENT_H

#include <optional>

#include "normgrad/settings.h"

namespace normgrad {

struct Environment {
  bool log = false;        // NORMGRAD_LOG=1: print every failure's sentence to stderr
  int threads = 0;         // NORMGRAD_THREADS=n: at most n threads; 0: OpenMP's own settings
  std::optional<Isa> isa;  // NORMGRAD_ISA=plain|baseline|sse4|avx2: at most this instruction set
};

const Environment& environment();

}  // namespace normgrad

#endif
