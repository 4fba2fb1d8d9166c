// run() allocates nothing, not even the first time: malloc is counted here.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "normgrad/settings.h"
#include "ops/row_problem.h"

namespace {
std::atomic<long> allocations{0};
}

extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}

namespace ops_test {
namespace {

TEST(Run, AllocatesNothing) {
  normgrad::set_threads(1);
  RowProblem ordinary(100, 70);
  RowProblem wide(3, 70000);
  const long before = allocations;
  const bool ok = ordinary.run() && wide.run() && ordinary.run();
  const long after = allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0);
  std::free(std::malloc(1));
  EXPECT_GT(allocations, after);  // they are counted
}

}  // namespace
}  // namespace ops_test
