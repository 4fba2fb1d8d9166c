// What the library takes from the system, each of which can be made to fail here: memory of the heap, mappings, threads.
#ifndef TESTS_EXHAUSTION_RESOURCES_H
#define TESTS_EXHAUSTION_RESOURCES_H

namespace exhaustion {

enum class Resource { kHeap, kMapping, kThread };
inline constexpr Resource kResources[] = {Resource::kHeap, Resource::kMapping, Resource::kThread};
const char* name(Resource resource);

enum class Mode { kOnce, kFromThenOn };
inline constexpr Mode kModes[] = {Mode::kOnce, Mode::kFromThenOn};

// From now on, request number `index` (0: the next) of a resource fails.
void fail(Resource resource, long index, Mode mode);
// No more; how many have failed.
long stop_failing();
// How many requests there were between the two.
long requests();

// Pieces of the heap that are in use.
long heap_pieces();

}  // namespace exhaustion

#endif
