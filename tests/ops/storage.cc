#include "ops/storage.h"

#include <algorithm>
#include <cstring>

namespace ops_test {
namespace {

constexpr std::size_t kGuardBytes = 128;

}  // namespace

Storage::Storage(const TensorSpec& spec) : format_(spec.format), offsets_(ops_test::offsets(spec)) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t offset : offsets_)
    low = std::min(low, offset), high = std::max(high, offset + 1);
  const std::size_t size = facts(format_).bytes;
  const std::size_t before = static_cast<std::size_t>(-low) * size;
  bytes_.resize(before + static_cast<std::size_t>(high) * size + 2 * kGuardBytes + 128);
  // A pattern without period, so that a shifted copy of it is noticed, and garbage as any number
  // format.
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    bytes_[i] = static_cast<std::uint8_t>((i * i * 7 + i * 31 + 0xa5) >> 2);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + before + kGuardBytes;
  origin_ = before + kGuardBytes + (64 - address % 64) % 64 + spec.shift_bytes;
}

std::size_t Storage::position(std::int64_t offset) const {
  const auto size = static_cast<std::int64_t>(facts(format_).bytes);
  return static_cast<std::size_t>(static_cast<std::int64_t>(origin_) + offset * size);
}

void Storage::write(const Values& values) {
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const std::uint64_t bits = encode(format_, values[i]);
    std::memcpy(&bytes_[position(offsets_[i])], &bits, facts(format_).bytes);  // little endian
  }
}

Bits Storage::read() const {
  Bits out(offsets_.size(), 0);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    std::memcpy(&out[i], &bytes_[position(offsets_[i])], facts(format_).bytes);
  }
  return out;
}

std::string Storage::changes(bool elements_writable) const {
  if (!elements_writable && bytes_ == image_) return "";
  std::vector<std::uint8_t> expected = image_;
  if (elements_writable) {
    for (const std::int64_t offset : offsets_) {
      std::memcpy(&expected[position(offset)], &bytes_[position(offset)], facts(format_).bytes);
    }
  }
  if (bytes_ == expected) return "";
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i] == expected[i]) continue;
    return "byte " +
           std::to_string(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(origin_)) +
           " from element 0 was changed";
  }
  return "";
}

}  // namespace ops_test
