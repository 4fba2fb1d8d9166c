// One number for any number of results.
#ifndef TESTS_OPS_HASH_H
#define TESTS_OPS_HASH_H

#include <cstdint>

#include "ops/library.h"

namespace ops_test {

// FNV-1a over the values; all NaNs are one, and so are the two zeros.
class Hash {
 public:
  void add(Format format, std::uint64_t bits) {
    const double value = decode(format, bits);
    if (value == 0) bits = 0;
    if (value != value) bits = ~std::uint64_t{0};
    for (int byte = 0; byte < 64; byte += 8)
      hash_ = (hash_ ^ (bits >> byte & 0xff)) * 0x100000001b3u;
  }
  void add(const Problem& p, const Outputs& outputs) {
    for (const Slot slot : kOutputs) {
      for (const std::uint64_t bits : outputs.bits[slot]) add(p.tensor[slot].format, bits);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace ops_test

#endif
