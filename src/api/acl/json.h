// Is a text a JSON object? All that we ask of aclInit's file, whose settings are for another device.
#ifndef NORMGRAD_API_ACL_JSON_H
#define NORMGRAD_API_ACL_JSON_H

#include <string_view>

namespace normgrad::api {

bool is_json_object(std::string_view text);

}  // namespace normgrad::api

#endif
