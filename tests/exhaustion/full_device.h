// Device memory of which nothing is left.
#ifndef TESTS_EXHAUSTION_FULL_DEVICE_H
#define TESTS_EXHAUSTION_FULL_DEVICE_H

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "exhaustion/resources.h"
#include "infinirt.h"

namespace exhaustion {

// All device memory that is mapped is taken: the next piece needs a mapping.
class FullDevice {
 public:
  FullDevice() {
    fail(Resource::kMapping, 0, Mode::kFromThenOn);
    for (std::size_t bytes = std::size_t{1} << 40; bytes >= 64;) {
      void* piece = nullptr;
      if (infinirtMalloc(&piece, bytes) == INFINI_STATUS_SUCCESS) {
        pieces_.push_back(piece);
      } else {
        bytes /= 2;
      }
    }
    stop_failing();
  }
  ~FullDevice() {
    for (void* piece : pieces_) EXPECT_EQ(infinirtFree(piece), INFINI_STATUS_SUCCESS);
  }
  FullDevice(const FullDevice&) = delete;
  FullDevice& operator=(const FullDevice&) = delete;

 private:
  std::vector<void*> pieces_;
};

}  // namespace exhaustion

#endif
