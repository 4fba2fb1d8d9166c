// Data buffers: an address and a size behind a handle.
#include "api/acl/entry.h"
#include "api/live_handle.h"

struct aclDataBuffer {
  static constexpr normgrad::HandleKind kKind = normgrad::HandleKind::kAclDataBuffer;
  void* data;
  size_t size;
  normgrad::Retirement retirement = {};
};

namespace normgrad::api {
namespace {

// body(buffer) for a live one; a failure leaves its sentence, and `absent` is the answer.
template <class Answer, class Body>
Answer ask(const char* name, const aclDataBuffer* handle, Answer absent, Body&& body) {
  Answer answer = absent;
  entry(name, [&] {
    if (handle == nullptr) return refuse_null("dataBuffer");
    const Visit visit;
    if (!is_live(handle, aclDataBuffer::kKind)) return refuse_dead("dataBuffer", handle);
    answer = body(*handle);
    return ACL_SUCCESS;
  });
  return answer;
}

}  // namespace
}  // namespace normgrad::api

using namespace normgrad::api;  // NOLINT: entry points are in the global namespace

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* created = nullptr;
  entry(__func__, [&] {
    publish(std::unique_ptr<aclDataBuffer>(new aclDataBuffer{data, size}), &created);
    return ACL_SUCCESS;
  });
  return created;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return entry(__func__, [&] {
    if (dataBuffer == nullptr) return refuse_null("dataBuffer");
    if (!normgrad::unregister_handle(dataBuffer, aclDataBuffer::kKind)) {
      return refuse_dead("dataBuffer", dataBuffer);
    }
    normgrad::retire_object(const_cast<aclDataBuffer*>(dataBuffer));
    return ACL_SUCCESS;
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return entry(__func__, [&] {
    if (dataBuffer == nullptr) return refuse_null("dataBuffer");
    const normgrad::Visit visit;
    aclDataBuffer* found = live<aclDataBuffer>(dataBuffer);
    if (found == nullptr) return refuse_dead("dataBuffer", dataBuffer);
    found->data = data;
    found->size = size;
    return ACL_SUCCESS;
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return ask<void*>(__func__, dataBuffer, nullptr, [](const aclDataBuffer& b) { return b.data; });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return ask<uint32_t>(__func__, dataBuffer, 0,
                       [](const aclDataBuffer& b) { return static_cast<uint32_t>(b.size); });
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return ask<size_t>(__func__, dataBuffer, 0, [](const aclDataBuffer& b) { return b.size; });
}
