// All of it is sequentially consistent, as are the loads and the erasing store of the registry: a
// visitor counts, then looks up; who retires erases, then counts visitors. So the one does not find
// the object, or the other finds the visitor.
#include "runtime/retirement.h"

#include <atomic>
#include <bit>

#include "runtime/thread_stripe.h"

namespace normgrad {
namespace {

static_assert(kStripes == 64, "one bit each");

struct alignas(64) Stripe {
  std::atomic<int> visitors{0};
  std::atomic<Retirement*> waiting{nullptr};  // for those visitors to leave
};
constinit Stripe stripes[kStripes];
constinit thread_local int own_visits = 0;

// Of the stripes in `mask`, those with visitors, `own` of this thread not counted.
std::uint64_t visited(std::uint64_t mask, int own) {
  std::uint64_t found = 0;
  const std::size_t end = stripes_in_use();
  for (std::size_t s = 0; s < end; ++s) {
    const std::uint64_t bit = std::uint64_t{1} << s;
    const int ignored = s == thread_stripe() ? own : 0;
    if ((mask & bit) != 0 && stripes[s].visitors.load() != ignored) found |= bit;
  }
  return found;
}

void leave_waiting(Retirement& one, Stripe& stripe) {
  one.next = stripe.waiting.load();
  while (!stripe.waiting.compare_exchange_weak(one.next, &one)) {
  }
}

Retirement* join(Retirement* list, Retirement* rest) {
  if (list == nullptr) return rest;
  Retirement* last = list;
  while (last->next != nullptr) last = last->next;
  last->next = rest;
  return list;
}

// Those that waited for the stripe, brought up to date: awaited is what they still have to wait for.
Retirement* take_waiting(Stripe& stripe) {
  Retirement* list = stripe.waiting.exchange(nullptr);
  for (Retirement* one = list; one != nullptr; one = one->next) {
    one->awaited = visited(one->awaited, 0);
  }
  return list;
}

// Ends what nobody can be using any more. The rest is left to a stripe each, whose last visitor
// comes by here again.
void settle(Retirement* list) {
  while (list != nullptr) {
    Retirement& one = *list;
    list = one.next;
    if (one.awaited == 0) {
      one.end(one.object);
      continue;
    }
    Stripe& stripe = stripes[std::countr_zero(one.awaited)];
    leave_waiting(one, stripe);
    // If they have left meanwhile, nobody may have seen it.
    if (stripe.visitors.load() == 0) list = join(take_waiting(stripe), list);
  }
}

}  // namespace

Visit::Visit() {
  ++own_visits;
  stripes[thread_stripe()].visitors.fetch_add(1);
}

Visit::~Visit() {
  --own_visits;
  Stripe& stripe = stripes[thread_stripe()];
  stripe.visitors.fetch_sub(1);
  if (stripe.waiting.load() != nullptr) settle(take_waiting(stripe));
}

void retire(Retirement& retirement) noexcept {
  retirement.next = nullptr;
  retirement.awaited = visited(~std::uint64_t{0}, own_visits);
  settle(&retirement);
}

void forget_lost_visitors() {
  for (std::size_t s = 0; s < kStripes; ++s) {
    stripes[s].visitors.store(s == thread_stripe() ? own_visits : 0);
  }
}

}  // namespace normgrad
