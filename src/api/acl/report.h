// Which thread hears of a stream's callbacks.
#ifndef NORMGRAD_API_ACL_REPORT_H
#define NORMGRAD_API_ACL_REPORT_H

#include "runtime/stream.h"

namespace normgrad::api {

// Of a stream that is being destroyed; does nothing if there is none.
void end_subscription(const Stream& stream);

}  // namespace normgrad::api

#endif
