#include "runtime/environment.h"

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

// A number from 1 to `most`; `absent` if there is none.
int read_count(const char* variable, int most, const char* allowed, int absent) {
  const char* value = read(variable);
  if (value == nullptr) return absent;
  char* end = nullptr;
  const long count = std::strtol(value, &end, 10);
  if (*end == '\0' && count >= 1 && count <= most) return static_cast<int>(count);
  report(variable, value, allowed);
  return absent;
}

template <class Value>
struct Named {
  const char* name;
  Value value;
};

// The value with the name that `variable` has; `allowed` is all names in words.
template <class Value, std::size_t kCount>
std::optional<Value> read_named(const char* variable, const Named<Value> (&known)[kCount],
                                const char* allowed) {
  const char* text = read(variable);
  if (text == nullptr) return std::nullopt;
  for (const Named<Value>& one : known) {
    if (std::strcmp(text, one.name) == 0) return one.value;
  }
  report(variable, text, allowed);
  return std::nullopt;
}

std::optional<Isa> read_isa() {
  constexpr Named<Isa> kKnown[] = {{"plain", Isa::kPlain},
                                   {"baseline", Isa::kBaseline},
                                   {"sse4", Isa::kSse4},
                                   {"avx2", Isa::kAvx2},
                                   {"avx512", Isa::kAvx512}};
  return read_named("NORMGRAD_ISA", kKnown, "plain, baseline, sse4, avx2 or avx512");
}

Arithmetic read_arithmetic() {
  constexpr Named<Arithmetic> kKnown[] = {{"fast", Arithmetic::kFast},
                                          {"exact", Arithmetic::kExact}};
  return read_named("NORMGRAD_ARITHMETIC", kKnown, "fast or exact").value_or(Arithmetic::kFast);
}

StreamMode read_streams() {
  constexpr Named<StreamMode> kKnown[] = {{"inline", StreamMode::kInline},
                                          {"async", StreamMode::kAsync},
                                          {"deferred", StreamMode::kDeferred}};
  return read_named("NORMGRAD_STREAMS", kKnown, "inline, async or deferred")
      .value_or(StreamMode::kInline);
}

Soc read_soc() {
  constexpr Named<Soc> kKnown[] = {{"Ascend950", Soc::kAscend950},
                                   {"Ascend910B", Soc::kAscend910B}};
  return read_named("NORMGRAD_SOC", kKnown, "Ascend950 or Ascend910B").value_or(Soc::kAscend950);
}

}  // namespace

const Environment& environment() {
  static const Environment values{
      read_log(),
      read_count("NORMGRAD_THREADS", 4096, "a number from 1 to 4096", 0),
      read_isa(),
      read_arithmetic(),
      read_streams(),
      read_count("NORMGRAD_DEVICES", 64, "a number from 1 to 64", 1),
      read_soc()};
  return values;
}

}  // namespace normgrad
