#include "exhaustion/resources.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace exhaustion {
namespace {

// Nothing fails while `resource` is -1.
std::atomic<int> failing{-1};
std::atomic<bool> once{true};
std::atomic<long> begin{0}, countdown{0}, failed{0}, pieces{0};

thread_local char place;  // whose address stands for a thread
std::atomic<const char*> thread{nullptr};

bool fails(Resource resource) {
  if (failing.load() != static_cast<int>(resource)) return false;
  if (resource == Resource::kMalloc && thread.load() != &place) return false;
  const long left = countdown.fetch_sub(1);
  if (left > 0 || (once.load() && left < 0)) return false;
  ++failed;
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails(Resource::kHeap)) return nullptr;
  void* piece = nullptr;  // not by malloc, which is another resource
  if (::posix_memalign(&piece, alignment < sizeof(void*) ? sizeof(void*) : alignment,
                       bytes == 0 ? 1 : bytes) != 0) {
    return nullptr;
  }
  ++pieces;
  return piece;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const piece = allocate(bytes, alignment);
  if (piece == nullptr) throw std::bad_alloc();
  return piece;
}

void release(void* piece) {
  if (piece == nullptr) return;
  --pieces;
  std::free(piece);
}

}  // namespace

const char* name(Resource resource) {
  constexpr const char* kNames[] = {"heap", "mapping", "thread", "malloc"};
  return kNames[static_cast<int>(resource)];
}

void fail(Resource resource, long index, Mode mode) {
  begin = index;
  countdown = index;
  failed = 0;
  once = mode == Mode::kOnce;
  thread = &place;
  failing = static_cast<int>(resource);
}

long stop_failing() {
  failing = -1;
  return failed;
}

long requests() { return begin - countdown; }

long heap_pieces() { return pieces; }

}  // namespace exhaustion

// The library's own calls end here.
void* operator new(std::size_t bytes) {
  return exhaustion::allocate_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return exhaustion::allocate_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return exhaustion::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return exhaustion::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return exhaustion::allocate(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return exhaustion::allocate(bytes, alignof(std::max_align_t));
}
void operator delete(void* piece) noexcept { exhaustion::release(piece); }
void operator delete[](void* piece) noexcept { exhaustion::release(piece); }
void operator delete(void* piece, std::size_t) noexcept { exhaustion::release(piece); }
void operator delete[](void* piece, std::size_t) noexcept { exhaustion::release(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { exhaustion::release(piece); }
void operator delete[](void* piece, std::align_val_t) noexcept { exhaustion::release(piece); }
void operator delete(void* piece, std::size_t, std::align_val_t) noexcept {
  exhaustion::release(piece);
}
void operator delete[](void* piece, std::size_t, std::align_val_t) noexcept {
  exhaustion::release(piece);
}

extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (exhaustion::fails(exhaustion::Resource::kMapping)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (exhaustion::fails(exhaustion::Resource::kThread)) return EAGAIN;
  return real(thread, attributes, run, argument);
}

#ifdef EXHAUSTION_REPLACES_MALLOC
// glibc's own, by the names under which it leaves them to those who replace malloc.
extern "C" {
void* __libc_malloc(std::size_t bytes);                           // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT
void* __libc_realloc(void* piece, std::size_t bytes);             // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT

static bool has_none() {
  if (!exhaustion::fails(exhaustion::Resource::kMalloc)) return false;
  errno = ENOMEM;
  return true;
}
void* malloc(std::size_t bytes) noexcept { return has_none() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return has_none() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* piece, std::size_t bytes) noexcept {
  return has_none() ? nullptr : __libc_realloc(piece, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return has_none() ? nullptr : __libc_memalign(alignment, bytes);
}
}
#endif
