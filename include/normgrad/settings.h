// Process-wide settings. The arithmetic decides about the bits of a result; the others only about its speed.
#ifndef NORMGRAD_SETTINGS_H
#define NORMGRAD_SETTINGS_H

#include "normgrad/export.h"

namespace normgrad {

// Ordered: a higher one includes the lower ones. kPlain is portable C++, kBaseline the vectors that
// every processor of the architecture has: NEON on arm64; on x86-64 there is none, and kPlain is chosen.
enum class Isa { kPlain, kBaseline, kSse4, kAvx2, kAvx512 };

// Caps the instruction set, as NORMGRAD_ISA=plain|baseline|sse4|avx2|avx512 does. What the processor or
// the build lacks is not used. Returns what runs from now on.
NORMGRAD_API Isa set_isa(Isa highest);
NORMGRAD_API Isa isa();

// How results are computed (docs/architecture.md). fast, the default: f32 with fused multiply-add, short chains into
// f64. exact: f64 for every data type, one rounding at the store; plain C++ on any instruction set, at no promised speed.
// A plan keeps the arithmetic it was made with.
enum class Arithmetic { kFast, kExact };

// For plans made from now on, as NORMGRAD_ARITHMETIC=fast|exact does. Returns what holds now.
NORMGRAD_API Arithmetic set_arithmetic(Arithmetic arithmetic);
NORMGRAD_API Arithmetic arithmetic();

// At most this many threads per call, as NORMGRAD_THREADS does; 0: OpenMP's own setting. Returns
// what holds now.
NORMGRAD_API int set_threads(int count);
NORMGRAD_API int threads();

}  // namespace normgrad

#endif
