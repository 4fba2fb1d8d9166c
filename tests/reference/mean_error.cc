#include "reference/mean_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace reference {
namespace {

// x is a multiple of 2 to this power.
int last_binade(double x) {
  int exponent = 0;
  const double digits = std::frexp(x, &exponent);
  const auto whole = static_cast<std::int64_t>(std::ldexp(digits, 53));
  return exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(whole));
}

}  // namespace

void MeanError::note(double x) {
  ++count_;
  size_ += magnitude(x);
  if (x != 0 && std::isfinite(x)) last_ = std::min(last_, last_binade(x));
}

Quad MeanError::greatest() const {
  if (!(size_ > std::ldexp(1.0, std::min(last_ + 53, 1023)))) return 0;
  const auto n = static_cast<double>(count_);
  return (std::min(n, 4096.0) + 16) * 0x1p-53 * size_ / n;
}

Quad slack_of_mean(Quad error, Quad centred, Quad factor) {
  return magnitude(centred) < error * 0x1p40 ? error * magnitude(factor) : Quad{0};
}

}  // namespace reference
