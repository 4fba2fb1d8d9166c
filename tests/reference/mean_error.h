// How far off a mean may be that f64 summed. A sum that f64 has exactly, in any order, is not off. Otherwise it takes up to
// as many roundings of mean(|x|) as a lane of a chunk of 4096 elements adds, and folds.
#ifndef TESTS_REFERENCE_MEAN_ERROR_H
#define TESTS_REFERENCE_MEAN_ERROR_H

#include <cstddef>

#include "reference/quad.h"

namespace reference {

// Of values noted one by one.
class MeanError {
 public:
  void note(double x);
  Quad greatest() const;

 private:
  std::size_t count_ = 0;
  Quad size_ = 0;    // sum(|x|)
  int last_ = 1024;  // every x is a multiple of 2 to this power
};

// What an element has as slack that is `centred` away from the mean, and goes into the result times `factor`: 0 where it is
// 2^40 times the error.
Quad slack_of_mean(Quad error, Quad centred, Quad factor);

}  // namespace reference

#endif
