// Arithmetic as numerics.md wants it, whatever the caller has set: round to nearest, subnormals
// kept, no traps.
#ifndef NORMGRAD_KERNELS_FLOAT_ENVIRONMENT_H
#define NORMGRAD_KERNELS_FLOAT_ENVIRONMENT_H

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace normgrad::kernels {

// Sets the calling thread's control word for its lifetime; afterwards that and the exception flags
// are as they were. A new thread inherits its creator's, so every task needs one: DAZ turns subnormal
// inputs to 0 already on widening.
class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(get()) { set(kDefault); }
  ~FloatEnvironment() { set(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  using Word = unsigned int;
  static constexpr Word kDefault = 0x1F80;  // MXCSR: all exceptions masked, nearest, no FTZ, no DAZ
  static Word get() { return _mm_getcsr(); }
  static void set(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  struct Word {
    std::uint64_t control, flags;
  };
  static constexpr Word kDefault{0, 0};  // FPCR and FPSR: the same
  static Word get() {
    Word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(word.flags));
    return word;
  }
  static void set(Word word) {
    __asm__ volatile("msr fpcr, %0" : : "r"(word.control));
    __asm__ volatile("msr fpsr, %0" : : "r"(word.flags));
  }
#else
#error "normgrad needs to know this processor's floating-point control word"
#endif

  Word saved_;
};

}  // namespace normgrad::kernels

#endif
