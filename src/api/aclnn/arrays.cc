// Arrays, lists and scalars: made, asked for their size, destroyed.
#include "api/aclnn/arrays.h"

#include <algorithm>
#include <cstring>

#include "api/aclnn/checks.h"
#include "api/aclnn/handles.h"
#include "runtime/device_memory.h"

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

namespace {

template <class A>
int copy_values(const typename A::Value* values, std::uint64_t size, A& array) {
  if (values == nullptr && size > 0) return refuse_null_pointer("value");
  if (size > normgrad::physical_memory_bytes() / sizeof(*values)) {
    return refuse(kAclnnInvalid, "size is %llu, which is more than memory can hold",
                  static_cast<unsigned long long>(size));
  }
  if (size > 0) array.values = std::make_unique<typename A::Value[]>(size);
  std::copy_n(values, size, array.values.get());
  array.size = size;
  return 0;
}

template <class A>
A* create_array(const char* name, const typename A::Value* values, std::uint64_t size) {
  return create_handle<A>(name, [&](A& array) { return copy_values(values, size, array); });
}

template <class Element>
int check_elements(const Element* const* elements, std::uint64_t size) {
  for (std::uint64_t i = 0; i < size; ++i) {
    if (elements[i] != nullptr)
      NORMGRAD_ACLNN_TRY(check_handle("an element of value", elements[i]));
  }
  return 0;
}

template <class List>
List* create_list(const char* name, const typename List::Value* elements, std::uint64_t size) {
  return create_handle<List>(name, [&](List& list) {
    NORMGRAD_ACLNN_TRY(copy_values(elements, size, list));
    return check_elements(list.values.get(), size);
  });
}

// Elements that the caller has destroyed before are left alone.
template <class Element, class List>
int destroy_list(const char* name, const char* argument, const List* list) {
  return aclnn_entry(name, [&] {
    if (list == nullptr) return 0;
    if (!normgrad::unregister_handle(list, List::kKind)) {
      return to_aclnn(not_alive(argument, list));
    }
    const std::unique_ptr<List, normgrad::Retire> owned(const_cast<List*>(list));
    for (std::uint64_t i = 0; i < list->size; ++i) {
      const Element* element = list->values[i];
      if (!normgrad::unregister_handle(element, Element::kKind)) continue;
      normgrad::retire_object(const_cast<Element*>(element));
    }
    return 0;
  });
}

template <class A>
int get_size(const char* name, const char* argument, const A* array, std::uint64_t* size) {
  return aclnn_entry(name, [&] {
    NORMGRAD_ACLNN_TRY(check_handle(argument, array));
    if (size == nullptr) return refuse_null_pointer("size");
    *size = array->size;
    return 0;
  });
}

}  // namespace

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return create_array<aclIntArray>(__func__, value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return create_array<aclFloatArray>(__func__, value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return create_array<aclBoolArray>(__func__, value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return create_list<aclTensorList>(__func__, value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return create_list<aclScalarList>(__func__, value, size);
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return create_handle<aclScalar>(__func__, [&](aclScalar& scalar) {
    if (value == nullptr) return refuse_null_pointer("value");
    const std::size_t bytes = aclDataTypeSize(dataType);
    if (bytes == 0 || bytes > sizeof(scalar.value)) {
      return refuse(kAclnnInvalid, "dataType is %s (%d), of which there are no scalars",
                    name_of(dataType), static_cast<int>(dataType));
    }
    scalar.dtype = dataType;
    std::memcpy(scalar.value, value, bytes);
    return 0;
  });
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return destroy_handle(__func__, "scalar", scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy_handle(__func__, "array", array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy_handle(__func__, "array", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy_handle(__func__, "array", array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return destroy_list<aclTensor>(__func__, "array", array);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return destroy_list<aclScalar>(__func__, "array", array);
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return get_size(__func__, "array", array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return get_size(__func__, "array", array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return get_size(__func__, "array", array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return get_size(__func__, "tensorList", tensorList, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return get_size(__func__, "scalarList", scalarList, size);
}
