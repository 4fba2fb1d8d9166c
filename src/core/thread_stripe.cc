#include "core/thread_stripe.h"

#include <algorithm>
#include <atomic>

namespace normgrad {
namespace {

constexpr std::size_t kNone = kStripes;
constinit thread_local std::size_t stripe = kNone;
constinit std::atomic<std::size_t> threads{0};

}  // namespace

// Sequentially consistent: whoever sees what this thread does next sees its stripe in use.
std::size_t thread_stripe() {
  if (stripe == kNone) stripe = threads.fetch_add(1) % kStripes;
  return stripe;
}

std::size_t stripes_in_use() { return std::min(threads.load(), kStripes); }

}  // namespace normgrad
