// What the library takes from the system, each of which can be made to fail here: memory of the heap, mappings, threads,
// and what the C library takes from malloc on its behalf (files, threads).
#ifndef TESTS_EXHAUSTION_RESOURCES_H
#define TESTS_EXHAUSTION_RESOURCES_H

namespace exhaustion {

enum class Resource { kHeap, kMapping, kThread, kMalloc };
inline constexpr Resource kResources[] = {Resource::kHeap, Resource::kMapping, Resource::kThread,
                                          Resource::kMalloc};
// A sanitizer has a malloc of its own, which nothing is to come between.
#ifdef EXHAUSTION_REPLACES_MALLOC
inline constexpr bool kReplacesMalloc = true;
#else
inline constexpr bool kReplacesMalloc = false;
#endif
const char* name(Resource resource);

enum class Mode { kOnce, kFromThenOn };
inline constexpr Mode kModes[] = {Mode::kOnce, Mode::kFromThenOn};

// From now on, request number `index` (0: the next) of a resource fails. Of malloc, only in the calling thread: OpenMP
// ends the process when its threads get no memory.
void fail(Resource resource, long index, Mode mode);
// No more; how many have failed.
long stop_failing();
// How many requests there were between the two.
long requests();

// Pieces of the heap that are in use.
long heap_pieces();

}  // namespace exhaustion

#endif
