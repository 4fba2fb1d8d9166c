// The caller's rounding mode, FTZ and DAZ (arm64: FZ, which is both) neither reach the results nor are changed.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ops/examples.h"
#include "ops/library.h"

namespace ops_test {
namespace {

using Shape = std::vector<std::int64_t>;

#if defined(__x86_64__)
constexpr std::uint64_t kFlush = 0x8040;  // FTZ and DAZ
std::uint64_t control_word() { return _mm_getcsr(); }
void set_control_word(std::uint64_t word) { _mm_setcsr(static_cast<unsigned>(word)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kFlush = 1 << 24;  // FZ
std::uint64_t control_word() { return __builtin_aarch64_get_fpcr64(); }
void set_control_word(std::uint64_t word) { __builtin_aarch64_set_fpcr64(word); }
#endif

struct Modes {
  int rounding;
  bool flush;

  void set() const {
    std::fesetround(rounding);
    set_control_word((control_word() & ~kFlush) | (flush ? kFlush : 0));
  }
  bool hold() const {
    return (control_word() & kFlush) == (flush ? kFlush : 0) && std::fegetround() == rounding;
  }
};

constexpr Modes kDefault{FE_TONEAREST, false};

void expect_indifference(const Problem& p, const RunSettings& settings) {
  const Outputs expected = run_library(p, settings);
  for (const Modes modes : {Modes{FE_UPWARD, false}, Modes{FE_DOWNWARD, true},
                            Modes{FE_TOWARDZERO, false}, Modes{FE_TONEAREST, true}}) {
    modes.set();
    const Outputs got = run_library(p, settings);
    const bool held = modes.hold();
    kDefault.set();
    EXPECT_TRUE(held) << title(p) << " " << name(settings.isa);
    EXPECT_EQ(first_difference(p, got, expected), "")
        << title(p) << " " << name(settings.isa) << " " << name(settings.arithmetic) << " rounding "
        << modes.rounding << " flush " << modes.flush;
  }
}

// The exact kernels know no instruction set.
void expect_indifference(const Problem& p, int threads) {
  for (const normgrad::Isa isa : available_isas()) expect_indifference(p, {threads, isa, 1});
  if (!has_two_arithmetics(p.op)) return;
  expect_indifference(p, {threads, normgrad::Isa::kPlain, 1, Arithmetic::kExact});
}

TEST(FloatEnvironment, OfTheCallerDoesNotMatter) {
  for (const Form form : kForms) {
    for (const Format data : kDataFormats) {
      const bool channels = is_batch_norm(form);
      const Shape small{5, 7, 33}, large{300, 7, 33},
          few_groups = channels ? Shape{2, 1, 40000} : Shape{8, 9000};
      for (const DataClass data_class : {DataClass::kTails, DataClass::kSubnormal}) {
        expect_indifference(example(form, data, small, 3, data_class), 1);
        expect_indifference(example(form, data, large, 4, data_class), 3);
        expect_indifference(example(form, data, few_groups, 5, data_class), 2);
      }
    }
  }
}

TEST(FloatEnvironment, OfTheCallerDoesNotMatterToSyncBatchNorm) {
  for (const Form form : kSyncForms) {
    for (const Format data : kDataFormats) {
      expect_indifference(example(form, data, {5, 7, 33}, 3, DataClass::kSubnormal), 1);
      expect_indifference(example(form, data, {20, 40, 33}, 4, DataClass::kTails), 3);
      expect_indifference(example(form, data, {2, 1, 9000}, 5, DataClass::kTails), 2);
    }
  }
}

TEST(FloatEnvironment, OfTheCallerDoesNotMatterToGatherStats) {
  for (const Format data : kDataFormats) {
    expect_indifference(example(Form::kGatherStats, data, {3, 40}, 6), 1);
    expect_indifference(example(Form::kGatherStats, data, {64, 3000}, 7), 3);
  }
}

}  // namespace
}  // namespace ops_test
