// Memory and asynchronous copies in a program of ACL calls.
#include <algorithm>
#include <cstdlib>

#include "acl_program.h"
#include "acl_status.h"

namespace fuzz {
namespace {

constexpr int kFreed = ACL_ERROR_RT_PARAM_INVALID;
constexpr std::size_t kUnit = 32;  // sizes are rounded up to a multiple of it
char host[256];                    // pageable

bool is_inline() {
  const char* const streams = std::getenv("NORMGRAD_STREAMS");
  return streams == nullptr || std::string(streams) == "inline";
}

}  // namespace

void AclProgram::memory() {
  if (bytes_.one_in(2)) {
    void* made = nullptr;
    const std::size_t size = bytes_.byte();
    const int code = aclrtMalloc(&made, size, ACL_MEM_MALLOC_HUGE_FIRST);
    expect_status("aclrtMalloc", code, size == 0 ? kNull : in_context());
    if (code != ACL_SUCCESS) return;
    put(Kind::kMemory, made);
    bytes_of_[made] = (size + kUnit - 1) / kUnit * kUnit;
    given_.insert(made);
    return;
  }
  void* const address = pick(Kind::kMemory);
  const int code = aclrtFree(address);
  expect_status("aclrtFree", code,
                address == nullptr                        ? kNull
                : slots_.is_alive(address, Kind::kMemory) ? ACL_SUCCESS
                                                          : kFreed);
  if (code != ACL_SUCCESS) return;
  slots_.die(address);
  bytes_of_.erase(address);
  late_ = late_ || pending_;
}

// Of a piece that is alive: perhaps not the one that was at this address before.
bool AclProgram::is_inside(void* address, std::size_t count) const {
  const auto* const begin = static_cast<const char*>(address);
  return std::any_of(bytes_of_.begin(), bytes_of_.end(), [&](const auto& piece) {
    const auto* const first = static_cast<const char*>(piece.first);
    return begin >= first && begin + count <= first + piece.second;
  });
}

int AclProgram::on_copy(void* stream, std::initializer_list<void*> addresses,
                        std::size_t count) const {
  for (void* const address : addresses) {
    if (address == nullptr) return kNull;
  }
  if (on_stream(stream) != ACL_SUCCESS) return on_stream(stream);
  for (void* const address : addresses) {
    if (address != host && !is_inside(address, count)) return kFreed;
  }
  return ACL_SUCCESS;
}

// Between memory that is or was alive, and the host: what was never memory would be the host's, on trust.
void AclProgram::copy() {
  void* const stream = pick(Kind::kStream);
  void* const to = bytes_.one_in(4) ? host : pick(Kind::kMemory);
  void* const from = bytes_.one_in(4) ? host : pick(Kind::kMemory);
  const bool fill = bytes_.one_in(3), fits = !bytes_.one_in(8);
  const std::size_t count = bytes_.byte();
  if ((to != host && !was_memory(to)) || (from != host && !was_memory(from))) return;
  const std::size_t room = fits || count == 0 ? count : count - 1;
  int code = ACL_SUCCESS, expected = ACL_SUCCESS;
  if (fill) {
    code = aclrtMemsetAsync(to, room, 1, count, stream);
    expected = on_copy(stream, {to}, count);
  } else {
    code = aclrtMemcpyAsync(to, room, from, count, ACL_MEMCPY_DEFAULT, stream);
    expected = on_copy(stream, {to, from}, count);
  }
  const bool null = to == nullptr || (!fill && from == nullptr);
  if (!null && room < count) expected = kFreed;
  if (count == 0 || (!null && room == count && !fill && to == from)) expected = ACL_SUCCESS;
  waited(fill ? "aclrtMemsetAsync" : "aclrtMemcpyAsync", code, expected);
  pending_ = pending_ || !is_inline();
}

}  // namespace fuzz
