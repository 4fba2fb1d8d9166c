// Threads that begin together.
#ifndef TESTS_CONCURRENCY_THREADS_H
#define TESTS_CONCURRENCY_THREADS_H

#include <barrier>
#include <thread>
#include <vector>

namespace concurrency_test {

inline constexpr int kThreads = 8;

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
