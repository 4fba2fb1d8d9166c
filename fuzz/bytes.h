// The bytes of a fuzzer's input, read as decisions. When they are used up, every further one is 0, so that a short input
// stands for an ordinary case.
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  std::uint32_t word() { return take<std::uint32_t>(); }
  std::uint64_t number() { return take<std::uint64_t>(); }
  // 0 ... n - 1; n is at most 256.
  std::size_t below(std::size_t n) { return byte() % n; }
  // False once the bytes are used up.
  bool one_in(std::size_t n) { return below(n) == n - 1; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  template <class T>
  T take() {
    T value{};
    const std::size_t count = left_ < sizeof(T) ? left_ : sizeof(T);
    if (count > 0) std::memcpy(&value, at_, count);
    at_ += count;
    left_ -= count;
    return value;
  }

  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace fuzz

#endif
