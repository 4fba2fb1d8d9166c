#include "kernels/isa.h"

#include <algorithm>
#include <atomic>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/environment.h"

namespace normgrad {
namespace kernels {
#if defined(__x86_64__)
namespace {

// clang's __builtin_cpu_supports does not know it.
[[maybe_unused]] bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace
#endif

Isa best_isa() {
#if defined(__x86_64__)
  // The compiler's run-time check also asks the system.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (!avx2) return Isa::kPlain;
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
#else
  return Isa::kBaseline;
#endif
}

}  // namespace kernels

namespace {

// What comes closest to it: on x86-64 there is nothing between plain C++ and AVX2.
Isa at_most(Isa highest) {
  const Isa chosen = std::clamp(highest, Isa::kPlain, kernels::best_isa());
#if defined(__x86_64__)
  if (chosen < Isa::kAvx2) return Isa::kPlain;
#endif
  return chosen;
}

std::atomic<Isa>& current_isa() {
  static std::atomic<Isa> current(at_most(environment().isa.value_or(Isa::kAvx512)));
  return current;
}

std::atomic<Arithmetic>& current_arithmetic() {
  static std::atomic<Arithmetic> current(environment().arithmetic);
  return current;
}

}  // namespace

Arithmetic arithmetic() { return current_arithmetic().load(std::memory_order_relaxed); }

Arithmetic set_arithmetic(Arithmetic arithmetic) {
  const bool exact = arithmetic == Arithmetic::kExact;  // any other number is fast
  current_arithmetic().store(exact ? Arithmetic::kExact : Arithmetic::kFast,
                             std::memory_order_relaxed);
  return normgrad::arithmetic();
}

Isa isa() { return current_isa().load(std::memory_order_relaxed); }

Isa set_isa(Isa highest) {
  const Isa chosen = at_most(highest);
  current_isa().store(chosen, std::memory_order_relaxed);
  return chosen;
}

}  // namespace normgrad
