// What the process holds: resident memory, threads, open descriptors.
#ifndef TESTS_SOAK_FOOTPRINT_H
#define TESTS_SOAK_FOOTPRINT_H

namespace soak {

struct Footprint {
  long resident_kib;
  int threads;
  int descriptors;
};

Footprint footprint();

// When only the caller is at work: after threads that have been told to end have ended, and the C library has given
// back what it keeps for the next allocation, which is not ours to answer for.
Footprint settled_footprint();

}  // namespace soak

#endif
