// Memory of one tensor with guards around it, and every byte remembered.
#ifndef TESTS_OPS_STORAGE_H
#define TESTS_OPS_STORAGE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/problem.h"

namespace ops_test {

using Bits = std::vector<std::uint64_t>;  // of elements, in logical order

class Storage {
 public:
  explicit Storage(const TensorSpec& spec);

  void write(const Values& values);
  Bits read() const;
  void* data() { return bytes_.data() + origin_; }  // of element (0, ..., 0)

  // The whole of it, guards included, for what keeps it elsewhere; element (0, ..., 0) is there.
  std::vector<std::uint8_t>& bytes() { return bytes_; }
  std::size_t origin() const { return origin_; }

  void remember() { image_ = bytes_; }
  void restore() { bytes_ = image_; }
  // "" if no byte changed since remember(), those of the elements excepted if they are writable.
  std::string changes(bool elements_writable) const;

 private:
  std::size_t position(std::int64_t offset) const;

  Format format_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint8_t> bytes_, image_;
  std::size_t origin_ = 0;
};

}  // namespace ops_test

#endif
