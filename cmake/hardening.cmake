# How the libraries are hardened, held to by tests/hygiene/hardening_test.py, and that they have the same bytes wherever
# source and build lie, held to by tests/hygiene/reproducible.sh.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-6]86)$")
  set(x86 ON)
endif()

# Sanitizers bring their own checks, and replace the same functions.
if(NOT NORMGRAD_SANITIZE)
  target_compile_options(normgrad_library_options INTERFACE
    -fstack-protector-strong -fstack-clash-protection $<$<BOOL:${x86}>:-fcf-protection=full>)
endif()
# For the kernels, linked last as the last option counts: their frames of up to 256 KiB are probed page by page, and the
# canary sits in loops over short rows. Zen 4, AVX2, one thread, best of 5 runs: BatchNorm backward f32 2x8x4 0.92 us ->
# 1.15 with the probes, 64x49 3.01 -> 3.28; RMSNorm backward f32 512x64 18.3 us -> 21.5 with the canary. The other flags
# cost nothing there. AddressSanitizer watches the same frames of the plain kernels (preset asan).
add_library(normgrad_kernel_options INTERFACE)
if(NOT NORMGRAD_SANITIZE)
  target_compile_options(normgrad_kernel_options INTERFACE -fno-stack-protector -fno-stack-clash-protection)
endif()
# It warns where nothing is optimized. Undefined first, as a distribution may ask for less in CXXFLAGS.
if(NOT NORMGRAD_SANITIZE AND NOT NORMGRAD_COVERAGE)
  set(level 3)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(level 2)
  endif()
  target_compile_options(normgrad_library_options INTERFACE
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
endif()

target_link_options(normgrad_library_options INTERFACE
  LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack
  # Said outright, since Debian's crti.o has no note and ld would drop ours. Not so ibt: its _init, which is called through
  # a pointer, does not begin with endbr64. Where crti.o has it, ld keeps that note by itself.
  $<$<BOOL:${x86}>:LINKER:-z,shstk>)

# The last map that fits counts, and the build may lie inside the source. gcov needs the places as they are.
if(NOT NORMGRAD_COVERAGE)
  target_compile_options(normgrad_library_options INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=normgrad -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
endif()
