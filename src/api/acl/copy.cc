// Copying and filling memory, at once or in a stream's order.
#include <cstring>

#include "api/acl/bytes.h"
#include "api/acl/runtime.h"
#include "runtime/device_memory.h"

namespace normgrad::api {
namespace {

// Rows of bytes: what every copy is, most with one row. run() checks the addresses, at the time.
struct Copy : Work {
  int run() override {
    return guarded(name, to_acl, [&] {
      const int code = check();
      if (code != ACL_SUCCESS) return code;
      for (std::size_t row = 0; row < rows; ++row) {
        std::memmove(dst + row * dst_pitch, src + row * src_pitch, row_bytes);
      }
      return ACL_SUCCESS;
    });
  }
  // From the first byte to the last; SIZE_MAX if that cannot be counted.
  std::size_t extent(std::size_t pitch) const {
    std::size_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(pitch, rows - 1, &bytes) ||
                           __builtin_add_overflow(bytes, row_bytes, &bytes);
    return overflows ? SIZE_MAX : bytes;
  }
  int check() const {
    const int code = check_bytes("dst", dst, extent(dst_pitch));
    return code == ACL_SUCCESS ? check_bytes("src", src, extent(src_pitch)) : code;
  }
  // Memory that its owner may free or reuse as soon as the call returns.
  bool uses_pageable_memory() const {
    return !owner_of(dst).has_value() || !owner_of(src).has_value();
  }

  const char* name = nullptr;  // of the entry point
  char* dst = nullptr;
  const char* src = nullptr;
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t dst_pitch = 0;
  std::size_t src_pitch = 0;
};

struct Fill : Work {
  int run() override {
    return guarded(name, to_acl, [&] {
      const int code = check();
      if (code == ACL_SUCCESS) std::memset(address, value, size);
      return code;
    });
  }
  int check() const { return check_bytes("devPtr", address, size); }
  bool uses_pageable_memory() const { return !owner_of(address).has_value(); }

  const char* name = nullptr;
  void* address = nullptr;
  int value = 0;
  std::size_t size = 0;
};

// In the stream's order. A bad address is answered now, and again when the work is done.
template <class Task>
int enqueue(Stream& stream, const Task& task) {
  if (stream.is_inline()) return stream.run_inline([&] { return Task(task).run(); });
  const bool waits = task.uses_pageable_memory();
  int code = task.check();
  if (code == ACL_SUCCESS && waits) code = check_may_wait();
  if (code != ACL_SUCCESS) return code;
  const auto mark = stream.submit(std::make_unique<Task>(task));
  if (!mark.has_value()) return refuse_dead("stream", &stream);
  if (!waits) return ACL_SUCCESS;
  mark->finish(std::nullopt);
  return answer_failure(mark->take_failure());
}

int check_room(const char* argument, std::size_t room, std::size_t count) {
  if (room != 0 && count <= room) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID, "count is %zu, but %s is %zu", count, argument, room);
}

int check_kind(aclrtMemcpyKind kind, int first, int last) {
  if (is_between(kind, first, last)) return ACL_SUCCESS;
  return refuse(ACL_ERROR_INVALID_PARAM,
                "kind is %d, but must be an aclrtMemcpyKind from %d to %d here",
                static_cast<int>(kind), first, last);
}

Copy copy_of(const char* name, void* dst, const void* src, std::size_t count) {
  Copy copy;
  copy.name = name;
  copy.dst = static_cast<char*>(dst);
  copy.src = static_cast<const char*>(src);
  copy.row_bytes = count;
  return copy;
}

// body(copy) after all checks but those of the addresses; nothing to copy is success.
template <class Body>
int with_copy(const char* name, void* dst, std::size_t room, const void* src, std::size_t count,
              aclrtMemcpyKind kind, Body&& body) {
  if (count == 0) return ACL_SUCCESS;
  if (dst == nullptr) return refuse_null("dst");
  if (src == nullptr) return refuse_null("src");
  int code = check_kind(kind, ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE);
  if (code == ACL_SUCCESS) code = check_room("destMax", room, count);
  if (code != ACL_SUCCESS || dst == src) return code;
  return body(copy_of(name, dst, src, count));
}

struct Rows {
  std::size_t dst_pitch, src_pitch, width, height;
};

template <class Body>
int with_copy_2d(const char* name, void* dst, const void* src, Rows rows, aclrtMemcpyKind kind,
                 Body&& body) {
  if (rows.width == 0 || rows.height == 0) return ACL_SUCCESS;
  if (dst == nullptr) return refuse_null("dst");
  if (src == nullptr) return refuse_null("src");
  if (rows.width > rows.dst_pitch || rows.width > rows.src_pitch) {
    return refuse(ACL_ERROR_INVALID_PARAM,
                  "width is %zu, but must be at most dpitch, %zu, and spitch, %zu", rows.width,
                  rows.dst_pitch, rows.src_pitch);
  }
  const int code = check_kind(kind, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEFAULT);
  if (code != ACL_SUCCESS) return code;
  Copy copy = copy_of(name, dst, src, rows.width);
  copy.rows = rows.height;
  copy.dst_pitch = rows.dst_pitch;
  copy.src_pitch = rows.src_pitch;
  return body(copy);
}

template <class Body>
int with_fill(const char* name, void* address, std::size_t room, int value, std::size_t count,
              Body&& body) {
  if (count == 0) return ACL_SUCCESS;
  if (address == nullptr) return refuse_null("devPtr");
  const int code = check_room("maxCount", room, count);
  if (code != ACL_SUCCESS) return code;
  Fill fill;
  fill.name = name;
  fill.address = address;
  fill.value = value;
  fill.size = count;
  return body(fill);
}

constexpr auto now = [](auto task) { return on_context([&](Context&) { return task.run(); }); };

auto on(aclrtStream handle) {
  return [handle](const auto& task) {
    return on_stream(handle, [&](Stream& stream) { return enqueue(stream, task); });
  };
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return entry(__func__,
               [&] { return with_copy("aclrtMemcpy", dst, destMax, src, count, kind, now); });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return entry(__func__, [&] {
    return with_copy("aclrtMemcpyAsync", dst, destMax, src, count, kind,
                     [&](const Copy& copy) -> int {
                       if (kind != ACL_MEMCPY_HOST_TO_HOST) return on(stream)(copy);
                       return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                                     "kind is 0, but no stream copies from host to host");
                     });
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return entry(__func__,
               [&] { return with_fill("aclrtMemset", devPtr, maxCount, value, count, now); });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return entry(__func__, [&] {
    return with_fill("aclrtMemsetAsync", devPtr, maxCount, value, count, on(stream));
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return entry(__func__, [&] {
    return with_copy_2d("aclrtMemcpy2d", dst, src, {dpitch, spitch, width, height}, kind, now);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return entry(__func__, [&] {
    return with_copy_2d("aclrtMemcpy2dAsync", dst, src, {dpitch, spitch, width, height}, kind,
                        on(stream));
  });
}
