// A best-fit allocator over ranges of address space that are mapped on demand and kept for ever.
// Its books lie on the C heap, not beside the memory: a caller that writes out of bounds cannot
// damage them.
#include "runtime/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/mutex.h"
#include "runtime/never_destroyed.h"

namespace normgrad {
namespace {

using Address = std::uintptr_t;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestRange = std::size_t{64} << 20;
// A freed piece this large goes back to the kernel; a smaller one stays warm for the next
// allocation.
constexpr std::size_t kGivenBack = std::size_t{4} << 20;

struct Range {
  Address begin = 0;
  Address end = 0;
  const Range* next = nullptr;

  Range() = default;
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {  // of a range that was never published
    if (begin != end) ::munmap(reinterpret_cast<void*>(begin), end - begin);
  }
};

// Prepended to, never removed from: read without a lock.
constinit std::atomic<const Range*> ranges{nullptr};

// From `from` to `to`, signed. Addresses of user space; garbage wraps harmlessly.
std::int64_t distance(Address from, Address to) { return static_cast<std::int64_t>(to - from); }

bool touches_a_range(Address address, std::int64_t begin, std::int64_t end) {
  const Range* range = ranges.load(std::memory_order_acquire);
  for (; range != nullptr; range = range->next) {
    if (begin < distance(address, range->end) && end > distance(address, range->begin)) return true;
  }
  return false;
}

bool in_a_range(Address address) { return touches_a_range(address, 0, 1); }

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool map(std::size_t bytes, Range* range) {
  void* begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return false;
  range->begin = reinterpret_cast<Address>(begin);
  range->end = range->begin + bytes;
  return true;
}

// Tells the kernel that the contents of whole pages in [begin, end) are not needed any more.
void give_back(Address begin, Address end) {
  const Address first = round_up(begin, page_bytes());
  const Address last = end / page_bytes() * page_bytes();
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

class Allocator {
 public:
  // Addresses given to free and place_of are in a range.
  void* allocate(std::size_t bytes, int owner);
  FreeResult free(Address address) noexcept;
  Place place_of(Address address, std::int64_t begin, std::int64_t end);
  std::optional<int> owner_of(Address address);
  DeviceMemoryUse use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  using FreePieces =
      std::set<std::pair<std::size_t, Address>>;  // (size, begin): the best fit is first

  struct Piece {
    std::size_t size = 0;
    std::size_t live_bytes = 0;  // what its owner asked for, at most size; 0: free
    int owner = 0;               // means something while live
    FreePieces::node_type
        free_entry;  // while live: kept for the day it is freed, which needs no memory
  };
  using Pieces = std::map<Address, Piece>;

  FreePieces::iterator best_fit(std::size_t size);
  FreePieces::iterator add_range(std::size_t size);
  FreePieces::iterator add_free_piece(Address begin, std::size_t size);
  Pieces::iterator merge_with_free_neighbours(Pieces::iterator piece);
  Pieces::iterator piece_at(Address address) { return std::prev(pieces_.upper_bound(address)); }

  mutable Mutex mutex_;
  Pieces pieces_;           // every byte of every range is in exactly one
  FreePieces free_pieces_;  // no two of them adjacent
  std::size_t mapped_ = 0;
  DeviceMemoryUse use_;
};

void* Allocator::allocate(std::size_t bytes, int owner) {
  const std::lock_guard lock(mutex_);
  const std::size_t limit = physical_memory_bytes();
  if (bytes == 0 || bytes > limit || use_.bytes > limit - bytes) return nullptr;
  const std::size_t size = round_up(bytes, kAlignment);
  const auto entry = best_fit(size);
  if (entry == free_pieces_.end()) return nullptr;
  const auto [found, begin] = *entry;
  if (found > size) add_free_piece(begin + size, found - size);
  Piece& piece = pieces_.find(begin)->second;  // from here on nothing throws
  piece.size = size;
  piece.live_bytes = bytes;
  piece.owner = owner;
  piece.free_entry = free_pieces_.extract(entry);
  ++use_.allocations;
  use_.bytes += bytes;
  return reinterpret_cast<void*>(begin);
}

Allocator::FreePieces::iterator Allocator::best_fit(std::size_t size) {
  const auto entry = free_pieces_.lower_bound({size, 0});
  return entry != free_pieces_.end() ? entry : add_range(size);
}

// As large as all ranges before together, so that there are never many of them; if the kernel
// refuses that much, just large enough. end() if it refuses that too.
Allocator::FreePieces::iterator Allocator::add_range(std::size_t size) {
  auto range = std::make_unique<Range>();
  const std::size_t enough = round_up(size, page_bytes());
  const bool mapped =
      map(std::max({enough, kSmallestRange, mapped_}), range.get()) || map(enough, range.get());
  if (!mapped) return free_pieces_.end();
  const std::size_t bytes = range->end - range->begin;
  const auto entry = add_free_piece(range->begin, bytes);
  mapped_ += bytes;
  range->next = ranges.load(std::memory_order_relaxed);
  ranges.store(range.release(), std::memory_order_release);
  return entry;
}

// Enters both books or, if memory for the entries is lacking, neither.
Allocator::FreePieces::iterator Allocator::add_free_piece(Address begin, std::size_t size) {
  FreePieces entry{{size, begin}};
  pieces_[begin].size = size;
  return free_pieces_.insert(entry.extract(entry.begin())).position;
}

FreeResult Allocator::free(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto piece = piece_at(address);
  if (piece->second.live_bytes == 0) return FreeResult::kFreedBefore;
  if (piece->first != address) return FreeResult::kNotOurs;
  --use_.allocations;
  use_.bytes -= piece->second.live_bytes;
  piece->second.live_bytes = 0;
  if (piece->second.size >= kGivenBack) give_back(address, address + piece->second.size);
  auto entry = std::move(piece->second.free_entry);
  const auto merged = merge_with_free_neighbours(piece);
  entry.value() = {merged->second.size, merged->first};
  free_pieces_.insert(std::move(entry));
  return FreeResult::kFreed;
}

// `piece` is free but not yet in free_pieces_; neither is what becomes of it here.
Allocator::Pieces::iterator Allocator::merge_with_free_neighbours(Pieces::iterator piece) {
  const auto merge = [&](Pieces::iterator left, Pieces::iterator right, Pieces::iterator known) {
    const bool adjacent = left->first + left->second.size == right->first;
    if (!adjacent || known->second.live_bytes != 0) return false;
    free_pieces_.erase({known->second.size, known->first});
    left->second.size += right->second.size;
    pieces_.erase(right);
    return true;
  };
  const auto next = std::next(piece);
  if (next != pieces_.end()) merge(piece, next, next);
  if (piece == pieces_.begin()) return piece;
  const auto previous = std::prev(piece);
  return merge(previous, piece, previous) ? previous : piece;
}

Place Allocator::place_of(Address address, std::int64_t begin, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  const auto& [first, piece] = *piece_at(address);
  const Address last = first + piece.live_bytes;
  if (address >= last) return Place::kFreed;
  const bool inside = begin >= distance(address, first) && end <= distance(address, last);
  return inside ? Place::kInside : Place::kOutside;
}

std::optional<int> Allocator::owner_of(Address address) {
  const std::lock_guard lock(mutex_);
  const auto& [first, piece] = *piece_at(address);
  if (address >= first + piece.live_bytes) return std::nullopt;
  return piece.owner;
}

// Memory may be used and freed by destructors of any static object.
Allocator& allocator() {
  static constinit NeverDestroyed<Allocator> instance;
  return instance.get();
}

}  // namespace

void* device_allocate(std::size_t bytes, int owner) { return allocator().allocate(bytes, owner); }

std::optional<int> owner_of(const void* pointer) {
  const auto address = reinterpret_cast<Address>(pointer);
  return in_a_range(address) ? allocator().owner_of(address) : std::nullopt;
}

FreeResult device_free(void* pointer) noexcept {
  const auto address = reinterpret_cast<Address>(pointer);
  return in_a_range(address) ? allocator().free(address) : FreeResult::kNotOurs;
}

Place place_of(const void* pointer, std::int64_t begin, std::int64_t end) {
  const auto address = reinterpret_cast<Address>(pointer);
  if (begin >= end) return Place::kHost;
  if (in_a_range(address)) return allocator().place_of(address, begin, end);
  return touches_a_range(address, begin, end) ? Place::kOutside : Place::kHost;
}

DeviceMemoryUse device_memory_use() { return allocator().use(); }

std::size_t physical_memory_bytes() {
  static const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * page_bytes();
}

}  // namespace normgrad
