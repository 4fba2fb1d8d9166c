// The number type of the reference: IEEE binary128, 113 bits, with its specials.
#ifndef TESTS_REFERENCE_QUAD_H
#define TESTS_REFERENCE_QUAD_H

#include <cmath>

namespace reference {

#if __LDBL_MANT_DIG__ == 113  // arm64, whose g++ has no other name for it
typedef long double Quad;
#else
__extension__ typedef __float128 Quad;
#endif

inline Quad magnitude(Quad a) { return a < 0 ? -a : a; }
inline bool is_nan(Quad a) { return a != a; }
inline bool is_finite(Quad a) { return a - a == 0; }

// Newton's iteration from the double root doubles the right bits twice: 53 -> 106 -> 113. A double
// root that is 0, infinite or NaN is that of a 0, infinite, negative or NaN argument (arguments are
// within the range of double).
inline Quad square_root(Quad a) {
  const double start = std::sqrt(static_cast<double>(a));
  if (start == 0 || !std::isfinite(start)) return start;
  Quad root = start;
  for (int i = 0; i < 2; ++i) root = (root + a / root) / 2;
  return root;
}

}  // namespace reference

#endif
