// What a call of the C++ contract answers. The sentence that goes with a failure:
// normgradGetLastError().
#ifndef NORMGRAD_STATUS_H
#define NORMGRAD_STATUS_H

namespace normgrad {

enum class [[nodiscard]] Status{
    kOk,
    kNullPointer,     // a required pointer is null
    kBadParam,        // an argument that is none of the following, e.g. buffers that overlap
    kBadDtype,        // a data type that the operator does not take, or a mixture it does not take
    kBadShape,        // rank or extents that do not fit each other
    kBadStrides,      // a layout that the operator does not take, or an output that overlaps itself
    kSmallWorkspace,  // less workspace than the plan asks for
    kDeviceUnsupported,  // a device that this library does not drive
    kDeviceNotFound,     // a type of device that it drives, but no device has this number
    kOutOfMemory,
    kInternal,        // a defect of the library
    kExchangeFailed,  // the ranks of a SyncBatchNorm could not exchange what they had to
};

}  // namespace normgrad

#endif
