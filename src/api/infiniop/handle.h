// A handle: the device that operators are created for.
#ifndef NORMGRAD_API_INFINIOP_HANDLE_H
#define NORMGRAD_API_INFINIOP_HANDLE_H

#include "infiniop/handle.h"
#include "runtime/handle_registry.h"
#include "runtime/retirement.h"

// The two numbers come first, in this order: InfiniCore's clients know that much of the layout.
struct InfiniopHandle {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kInfiniopHandle;

  infiniDevice_t device = INFINI_DEVICE_CPU;
  int device_id = 0;  // also if infinirtSetDevice was given another one: there is only one CPU
  normgrad::Retirement retirement;
};

#endif
