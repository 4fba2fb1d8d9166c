// What a caller says about a tensor, right or wrong, and memory for it that ends at a page nobody may touch.
#ifndef FUZZ_DRAFTS_H
#define FUZZ_DRAFTS_H

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "bytes.h"
#include "finding.h"

namespace fuzz {

using Extents = std::vector<std::int64_t>;
__extension__ using Wide = __int128;

struct Draft {
  bool null = false;
  Extents shape, strides;
  std::int64_t offset = 0;
  int dtype = 0;
  int format = 2;
  Extents storage;  // none: nothing is said about it

  bool is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }
  // Offsets of the lowest and the highest element from the first; of a tensor with elements.
  Wide lowest() const { return reach(-1); }
  Wide highest() const { return reach(1); }
  Wide count() const {
    Wide n = 1;
    for (const std::int64_t extent : shape) n = std::min(n * extent, kHuge);
    return n;
  }
  // Small enough that memory can be had for it, and that its elements can be counted one by one.
  bool is_small() const {
    if (is_empty()) return true;
    return std::all_of(shape.begin(), shape.end(), [](auto n) { return n > 0; }) &&
           count() <= 4096 && lowest() >= -4096 && highest() <= 4096 && offset >= 0 &&
           offset <= 4096;
  }
  // Two elements have one address; of a small tensor.
  bool overlaps_itself() const {
    if (is_empty()) return false;
    std::set<std::int64_t> seen;
    Extents index(shape.size(), 0);
    for (std::int64_t left = static_cast<std::int64_t>(count()); left > 0; --left) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) at += index[d] * strides[d];
      if (!seen.insert(at).second) return true;
      for (std::size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d]) break;
        index[d] = 0;
      }
    }
    return false;
  }

 private:
  // More than can be counted, and so little that eight times as much can still be written down.
  static constexpr Wide kHuge = Wide{1} << 63, kFar = Wide{1} << 100;
  Wide reach(int sign) const {
    Wide sum = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Wide step = (Wide{shape[d]} - 1) * strides[d];
      if (step * sign > 0) sum = std::clamp(sum + step, -kFar, kFar);
    }
    return sum;
  }
};

inline Extents contiguous(const Extents& shape) {
  Extents strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[d], 1), &stride)) {
      stride = INT64_MAX;
    }
  }
  return strides;
}

inline std::int64_t odd_number(Bytes& bytes) {
  return bytes.pick<std::int64_t>({0, -1, 1, 2, 7, 1000, INT64_MAX, INT64_MIN, INT64_MAX / 2,
                                   std::int64_t{1} << 62, std::int64_t{1} << 61,
                                   std::int64_t{1} << 32, -8, INT64_MAX / 8});
}

// A tensor of this shape, in some layout; seldom of another shape, or in a layout that cannot be.
inline Draft draft(Bytes& bytes, Extents shape) {
  Draft d;
  if (bytes.one_in(40)) shape.push_back(bytes.pick<std::int64_t>({1, 2, 0}));
  if (bytes.one_in(40) && !shape.empty()) shape.pop_back();
  if (bytes.one_in(40) && !shape.empty()) shape[bytes.below(shape.size())] = odd_number(bytes);
  if (bytes.one_in(60)) shape.assign(9 + bytes.below(4), 1);
  d.shape = shape;
  d.strides = contiguous(shape);
  switch (bytes.below(10)) {
    case 5: {  // the other way round
      Extents turned(shape.rbegin(), shape.rend());
      turned = contiguous(turned);
      d.strides.assign(turned.rbegin(), turned.rend());
      break;
    }
    case 6:  // with gaps
      for (std::int64_t& s : d.strides) {
        if (s < 1000) s *= 3;
      }
      break;
    case 7:
      if (!shape.empty()) d.strides[bytes.below(shape.size())] = 0;
      break;
    case 8:
      if (!shape.empty()) {
        std::int64_t& s = d.strides[bytes.below(shape.size())];
        if (s != INT64_MIN) s = -s;
      }
      break;
    case 9:
      if (!shape.empty() && bytes.one_in(4)) {
        d.strides[bytes.below(shape.size())] = odd_number(bytes);
      }
      break;
    default:
      break;
  }
  return d;
}

// Memory of one tensor or workspace: readable and writable between two pages that are not.
class Guarded {
 public:
  Guarded() {
    void* const all =
        ::mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(all != MAP_FAILED, "mmap");
    memory_ = static_cast<std::uint8_t*>(all) + kPage;
    expect(::mprotect(memory_, kBytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
  }
  Guarded(const Guarded&) = delete;

  // Where element 0 lies if the tensor ends at the page behind, or begins at the one before.
  void* place(const Draft& draft, std::size_t size, bool at_end) {
    if (draft.is_empty()) return memory_;
    const auto lowest =
        static_cast<std::int64_t>(draft.lowest()) + std::min<std::int64_t>(draft.offset, 0);
    const auto end = static_cast<std::int64_t>(draft.highest()) + draft.offset + 1;
    const auto bytes = static_cast<std::int64_t>(size);
    return at_end ? memory_ + kBytes - end * bytes : memory_ - lowest * bytes;
  }
  // So many bytes that end at the page behind.
  void* last(std::size_t bytes) {
    expect(bytes <= kBytes, "more memory is asked for than there is: " + std::to_string(bytes));
    return memory_ + kBytes - bytes;
  }

 private:
  static constexpr std::size_t kPage = 4096, kBytes = std::size_t{1} << 17;
  std::uint8_t* memory_;
};

}  // namespace fuzz

#endif
