#include "runtime/thread_stripe.h"

#include <algorithm>
#include <atomic>

namespace normgrad {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constinit thread_local std::uint64_t number = kNone;
constinit std::atomic<std::uint64_t> threads{0};

}  // namespace

// Sequentially consistent: whoever sees what this thread does next sees its stripe in use.
std::uint64_t thread_number() {
  if (number == kNone) number = threads.fetch_add(1);
  return number;
}

std::size_t thread_stripe() { return thread_number() % kStripes; }

std::size_t stripes_in_use() { return std::min<std::uint64_t>(threads.load(), kStripes); }

}  // namespace normgrad
