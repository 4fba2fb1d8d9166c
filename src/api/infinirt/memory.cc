// Memory of the device. It is host memory, so the asynchronous forms do their work at once.
#include <cstdint>
#include <cstring>

#include "api/infinirt/entry.h"
#include "runtime/device_memory.h"

namespace normgrad::api {
namespace {

Status allocate(void** p_ptr, std::size_t size) {
  if (p_ptr == nullptr) return null_pointer("p_ptr");
  void* memory = device_allocate(size);
  if (memory == nullptr && size > 0) {
    return fail(Status::kOutOfMemory, "no memory for size %zu: the device has %zu bytes in all",
                size, physical_memory_bytes());
  }
  *p_ptr = memory;
  return Status::kOk;
}

Status release(void* ptr) {
  if (ptr == nullptr) return Status::kOk;
  switch (device_free(ptr)) {
    case FreeResult::kFreed:
      return Status::kOk;
    case FreeResult::kFreedBefore:
      return fail(Status::kBadParam, "ptr (%p) was freed before", ptr);
    case FreeResult::kNotOurs:
      break;
  }
  return fail(Status::kBadParam, "ptr (%p) is not an address that infinirtMalloc gave", ptr);
}

Status check_bytes(const char* argument, const void* address, std::size_t size) {
  if (size == 0) return Status::kOk;
  if (address == nullptr) return null_pointer(argument);
  const bool countable = size <= static_cast<std::size_t>(INT64_MAX);
  switch (countable ? place_of(address, 0, static_cast<std::int64_t>(size)) : Place::kOutside) {
    case Place::kHost:
    case Place::kInside:
      return Status::kOk;
    case Place::kOutside:
      return fail(Status::kBadParam, "%zu bytes from %s (%p) on are not in one allocation", size,
                  argument, address);
    case Place::kFreed:
      break;
  }
  return fail(Status::kBadParam, "%s (%p) lies in device memory that is not allocated", argument,
              address);
}

Status check_kind(infinirtMemcpyKind_t kind) {
  switch (kind) {
    case INFINIRT_MEMCPY_H2H:
    case INFINIRT_MEMCPY_H2D:
    case INFINIRT_MEMCPY_D2H:
    case INFINIRT_MEMCPY_D2D:
      return Status::kOk;
  }
  return fail(Status::kBadParam, "kind is %d, but must be an infinirtMemcpyKind_t, 0 to 3",
              static_cast<int>(kind));
}

Status copy(void* dst, const void* src, std::size_t size, infinirtMemcpyKind_t kind) {
  Status status = check_kind(kind);
  if (status == Status::kOk) status = check_bytes("dst", dst, size);
  if (status == Status::kOk) status = check_bytes("src", src, size);
  if (status == Status::kOk && size > 0) std::memmove(dst, src, size);
  return status;
}

Status set(void* ptr, int value, std::size_t count) {
  const Status status = check_bytes("ptr", ptr, count);
  if (status == Status::kOk && count > 0) std::memset(ptr, value, count);
  return status;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

infiniStatus_t infinirtMalloc(void** p_ptr, size_t size) {
  return entry_on_current_device(__func__, [&] { return allocate(p_ptr, size); });
}

infiniStatus_t infinirtMallocHost(void** p_ptr, size_t size) {
  return entry_on_current_device(__func__, [&] { return allocate(p_ptr, size); });
}

infiniStatus_t infinirtMallocAsync(void** p_ptr, size_t size, infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [&] { return allocate(p_ptr, size); });
}

infiniStatus_t infinirtFree(void* ptr) {
  return entry_on_current_device(__func__, [&] { return release(ptr); });
}

infiniStatus_t infinirtFreeHost(void* ptr) {
  return entry_on_current_device(__func__, [&] { return release(ptr); });
}

infiniStatus_t infinirtFreeAsync(void* ptr, infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [&] { return release(ptr); });
}

infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind) {
  return entry_on_current_device(__func__, [&] { return copy(dst, src, size, kind); });
}

infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size,
                                   infinirtMemcpyKind_t kind, infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [&] { return copy(dst, src, size, kind); });
}

infiniStatus_t infinirtMemset(void* ptr, int value, size_t count) {
  return entry_on_current_device(__func__, [&] { return set(ptr, value, count); });
}

infiniStatus_t infinirtMemsetAsync(void* ptr, int value, size_t count, infinirtStream_t stream) {
  return entry_on_stream(__func__, stream, [&] { return set(ptr, value, count); });
}
