// Which handles are alive. A C caller may pass a destroyed, foreign or wrongly typed pointer; it is
// looked up here and never dereferenced unless it is known.
#ifndef NORMGRAD_RUNTIME_HANDLE_REGISTRY_H
#define NORMGRAD_RUNTIME_HANDLE_REGISTRY_H

#include <cstddef>
#include <cstdint>

#include "normgrad/export.h"

namespace normgrad {

enum class HandleKind : std::uint8_t {
  kInfiniopHandle = 1,
  kInfiniopTensor,
  kInfiniopOperator,
  kInfinirtEvent,
  kAclDataBuffer,
  kAclTensor,
  kAclScalar,
  kAclIntArray,
  kAclFloatArray,
  kAclBoolArray,
  kAclTensorList,
  kAclScalarList,
  kAclOpExecutor,
  kAclRepeatableOpExecutor,
  kAclContext,
};

// Lock-free: one or two cache lines per look-up.
NORMGRAD_API bool is_live(const void* handle, HandleKind kind);

// What was written to the handle before is seen by whoever finds it alive. Throws std::bad_alloc
// when the table is full and cannot grow; then nothing is registered.
NORMGRAD_API void register_handle(const void* handle, HandleKind kind);

// One that is alive as `from` is alive as `to` instead. False if it was not alive as `from`. Throws
// std::bad_alloc as above; then it is what it was.
NORMGRAD_API bool change_handle(const void* handle, HandleKind from, HandleKind to);

// False if it was not alive as `kind`: of two threads that destroy one handle, one gets true.
NORMGRAD_API bool unregister_handle(const void* handle, HandleKind kind);

// Slots of the table now, for tests: it grows with the handles that live at once, not with their
// turnover.
NORMGRAD_API std::size_t handle_table_slots();

}  // namespace normgrad

#endif
