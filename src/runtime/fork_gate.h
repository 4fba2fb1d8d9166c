// fork() copies memory and one thread. A lock that another thread holds at that moment would be held
// in the child for ever, so fork waits (pthread_atfork) until nobody is in a section that holds one.
#ifndef NORMGRAD_RUNTIME_FORK_GATE_H
#define NORMGRAD_RUNTIME_FORK_GATE_H

#include <cstdint>

#include "normgrad/export.h"

namespace normgrad {

// Around every section with a lock; may nest. Such a section is short: it waits for nothing but
// other locks, and for stderr if a failure is found there and NORMGRAD_LOG=1.
NORMGRAD_API void enter_locked_section();
NORMGRAD_API void leave_locked_section();

// How many forks lie between the process that loaded the library and this one.
NORMGRAD_API unsigned fork_generation();
// The number (runtime/thread_stripe.h) of the one thread that came through the last of them; means
// something if there was one.
std::uint64_t forked_thread();

}  // namespace normgrad

#endif
