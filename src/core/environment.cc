#include "core/environment.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace normgrad {
namespace {

void report(const char* variable, const char* value, const char* allowed) {
  std::fprintf(stderr, "normgrad: %s=%s is ignored: it must be %s\n", variable, value, allowed);
}

const char* read(const char* variable) {
  const char* value = ::secure_getenv(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

bool read_log() {
  const char* value = read("NORMGRAD_LOG");
  if (value == nullptr || std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  report("NORMGRAD_LOG", value, "0 or 1");
  return false;
}

int read_threads() {
  const char* value = read("NORMGRAD_THREADS");
  if (value == nullptr) return 0;
  char* end = nullptr;
  const long count = std::strtol(value, &end, 10);
  if (*end == '\0' && count >= 1 && count <= 4096) return static_cast<int>(count);
  report("NORMGRAD_THREADS", value, "a number from 1 to 4096");
  return 0;
}

std::optional<Isa> read_isa() {
  const char* value = read("NORMGRAD_ISA");
  if (value == nullptr) return std::nullopt;
  constexpr struct {
    const char* name;
    Isa isa;
  } kNames[] = {{"plain", Isa::kPlain},
                {"baseline", Isa::kBaseline},
                {"sse4", Isa::kSse4},
                {"avx2", Isa::kAvx2}};
  for (const auto& known : kNames) {
    if (std::strcmp(value, known.name) == 0) return known.isa;
  }
  report("NORMGRAD_ISA", value, "plain, baseline, sse4 or avx2");
  return std::nullopt;
}

}  // namespace

const Environment& environment() {
  static const Environment values{read_log(), read_threads(), read_isa()};
  return values;
}

}  // namespace normgrad
