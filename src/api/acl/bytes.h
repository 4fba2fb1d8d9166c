// Which bytes a call may touch.
#ifndef NORMGRAD_API_ACL_BYTES_H
#define NORMGRAD_API_ACL_BYTES_H

#include <cstddef>

namespace normgrad::api {

// Success if `size` bytes from `address` on are in one live allocation, or none of ours.
int check_bytes(const char* argument, const void* address, std::size_t size);

}  // namespace normgrad::api

#endif
