// What the process environment asks of us. Read once, when first needed; a bad value is reported
// and ignored.
#ifndef NORMGRAD_RUNTIME_ENVIRONMENT_H
#define NORMGRAD_RUNTIME_ENVIRONMENT_H

#include <optional>

#include "normgrad/export.h"
#include "normgrad/settings.h"

namespace normgrad {

// When the work of a stream is done (docs/acl.md).
enum class StreamMode { kInline, kAsync, kDeferred };

// Whose rules the aclnn operators follow (docs/acl.md).
enum class Soc { kAscend950, kAscend910B };

struct Environment {
  bool log = false;        // NORMGRAD_LOG=1: print every failure's sentence to stderr
  int threads = 0;         // NORMGRAD_THREADS=n: at most n threads; 0: OpenMP's own settings
  std::optional<Isa> isa;  // NORMGRAD_ISA=plain|baseline|sse4|avx2|avx512: at most this instruction set
  Arithmetic arithmetic = Arithmetic::kFast;  // NORMGRAD_ARITHMETIC=fast|exact
  StreamMode streams = StreamMode::kInline;  // NORMGRAD_STREAMS=inline|async|deferred
  int devices = 1;                           // NORMGRAD_DEVICES=n: how many devices ACL shows
  Soc soc = Soc::kAscend950;                 // NORMGRAD_SOC=Ascend950|Ascend910B
};

NORMGRAD_API const Environment& environment();

}  // namespace normgrad

#endif
