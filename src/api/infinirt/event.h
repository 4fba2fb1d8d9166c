// An event: the moment at which it was last recorded.
#ifndef NORMGRAD_API_INFINIRT_EVENT_H
#define NORMGRAD_API_INFINIRT_EVENT_H

#include <atomic>
#include <chrono>
#include <cstdint>

#include "api/infinirt/entry.h"

namespace normgrad::api {

struct Event {
  static constexpr HandleKind kKind = HandleKind::kInfinirtEvent;
  using Clock = std::chrono::steady_clock;

  std::uint32_t flags = INFINIRT_EVENT_DEFAULT;
  std::atomic<bool> recorded = false;
  std::atomic<Clock::time_point> moment = Clock::time_point();  // means something once recorded
  Retirement retirement;
};

// body(Event&) if `event` is alive, else the failure.
template <class Body>
Status with_event(const char* argument, infinirtEvent_t event, Body&& body) {
  if (event == nullptr) return null_pointer(argument);
  const Visit visit;
  Event* found = live<Event>(event);
  return found != nullptr ? body(*found) : not_alive(argument, event);
}

}  // namespace normgrad::api

#endif
