// Counters of what threads are doing, spread over cache lines: a thread counts on a line that it
// shares with few others, or none.
#ifndef NORMGRAD_RUNTIME_THREAD_STRIPE_H
#define NORMGRAD_RUNTIME_THREAD_STRIPE_H

#include <cstddef>
#include <cstdint>

namespace normgrad {

inline constexpr std::size_t kStripes = 64;

// Of this thread; no other ever has it, not even after a fork, unlike a pthread_t.
std::uint64_t thread_number();

std::size_t thread_stripe();   // of this thread, below kStripes
std::size_t stripes_in_use();  // those from here on have never counted anything

}  // namespace normgrad

#endif
