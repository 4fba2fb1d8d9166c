// Says what the library takes from the environment: environment_reader trusted|untrusted.
#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/environment.h"

namespace {

constexpr int kSkipped = 77;

int check(bool untrusted) {
  const char* given = std::getenv("NORMGRAD_THREADS");
  if (given == nullptr || std::strcmp(given, "3") != 0) {
    std::fputs("NORMGRAD_THREADS=3 did not arrive\n", stderr);
    return 1;
  }
  const int expected = untrusted ? 0 : 3;
  const int first = normgrad::environment().threads;
  ::setenv("NORMGRAD_THREADS", "5", 1);
  const int second = normgrad::environment().threads;
  std::printf("threads: %d, after a change of the variable %d; expected %d\n", first, second,
              expected);
  return first == expected && second == expected ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const bool untrusted = count > 1 && std::strcmp(arguments[1], "untrusted") == 0;
  // What secure_getenv asks: the kernel's word that the program has rights that its caller lacks.
  if (untrusted != (::getauxval(AT_SECURE) != 0)) {
    std::printf("skipped: AT_SECURE is %lu here\n", ::getauxval(AT_SECURE));
    return untrusted ? kSkipped : 1;
  }
  return check(untrusted);
}
