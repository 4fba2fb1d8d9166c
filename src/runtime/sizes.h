// Overflow-checked arithmetic for everything that comes from a caller's shape or strides.
#ifndef NORMGRAD_RUNTIME_SIZES_H
#define NORMGRAD_RUNTIME_SIZES_H

#include <cstdint>

namespace normgrad {

// An int64 that remembers whether anything on the way to it overflowed.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}  // NOLINT: numbers mix freely with it

  constexpr bool ok() const { return ok_; }
  constexpr std::int64_t value() const { return value_; }  // meaningless unless ok()

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked sum(0);
    sum.ok_ = !__builtin_add_overflow(a.value_, b.value_, &sum.value_) && a.ok_ && b.ok_;
    return sum;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked product(0);
    product.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &product.value_) && a.ok_ && b.ok_;
    return product;
  }

 private:
  std::int64_t value_;
  bool ok_ = true;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

}  // namespace normgrad

#endif
