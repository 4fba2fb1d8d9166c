// Threads that begin together.
#ifndef TESTS_CONCURRENCY_THREADS_H
#define TESTS_CONCURRENCY_THREADS_H

#include <barrier>
#include <thread>
#include <vector>

namespace concurrency_test {

inline constexpr int kThreads = 8;

// How often the same is done again. Sanitizers see what is wrong by what happens, not by chance: less will do for them.
constexpr int repetitions(int ordinary) {
#if NORMGRAD_SANITIZED
  return ordinary < 10 ? 1 : ordinary / 10;
#else
  return ordinary;
#endif
}

// body(0), ..., body(count - 1), each in a thread of its own.
template <class Body>
void in_threads(int count, Body&& body) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace concurrency_test

#endif
