// Cuts a workspace into pieces, each a multiple of 64 bytes from a multiple of 64. A plan cuts one at address 0 to learn
// the size, a run cuts the caller's, which may begin anywhere.
#ifndef NORMGRAD_OPS_WORKSPACE_H
#define NORMGRAD_OPS_WORKSPACE_H

#include <cstddef>
#include <cstdint>

#include "runtime/sizes.h"

namespace normgrad {

class Workspace {
 public:
  explicit Workspace(void* begin = nullptr)
      : base_((reinterpret_cast<std::uintptr_t>(begin) + (kAlignment - 1)) / kAlignment *
              kAlignment) {}

  // Only in a plan may the size be too large.
  template <class E>
  E* take(Checked count) {
    const std::int64_t begin = end_.value();
    end_ = end_ + count * std::int64_t{sizeof(E)} + (kAlignment - 1);
    if (end_.ok()) end_ = end_.value() / kAlignment * kAlignment;
    return reinterpret_cast<E*>(base_ + static_cast<std::uintptr_t>(begin));
  }

  // With what it may take to get to a multiple of 64; 0 if nothing was taken.
  Checked bytes() const { return end_.ok() && end_.value() == 0 ? end_ : end_ + kAlignment; }

 private:
  static constexpr std::int64_t kAlignment = 64;
  std::uintptr_t base_;
  Checked end_ = 0;
};

}  // namespace normgrad

#endif
