// OpenMP's runtimes end the process when they cannot create a thread. So we ask the system first.
#ifndef NORMGRAD_KERNELS_SPARE_THREADS_H
#define NORMGRAD_KERNELS_SPARE_THREADS_H

namespace normgrad::kernels {

// How many more threads this process may have just now, at most `wanted`: creates that many with the default stack, all
// alive at once, and ends them.
int spare_threads(int wanted);

}  // namespace normgrad::kernels

#endif
