# Compile and link options of our own targets; nothing is set globally.

set(NORMGRAD_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread; empty: none")

option(NORMGRAD_COVERAGE "Count which lines and branches of src/ are reached" OFF)

# With sanitizers and coverage a target of the kernels takes a minute to compile, and AVX2's text is the same.
set(avx512 ON)
if(NORMGRAD_SANITIZE OR NORMGRAD_COVERAGE)
  set(avx512 OFF)
endif()
option(NORMGRAD_AVX512 "Compile the kernels for AVX-512; OFF: those of AVX2 run in their place" ${avx512})

# Every target: warnings, and arithmetic that no compiler may rearrange or contract (docs/architecture.md).
add_library(normgrad_options INTERFACE)
target_compile_features(normgrad_options INTERFACE cxx_std_20)
target_compile_options(normgrad_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion>  # as g++ understands -Wconversion in C++
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>"  # or ccache takes no precompiled header for the same
  -ffp-contract=off -fno-fast-math
  -fno-math-errno  # nobody asks errno after a square root, and with it none is a vector instruction
  $<$<BOOL:${NORMGRAD_WERROR}>:-Werror>)

# Everything of ours is built with the sanitizers, since they must see both ends of every access.
if(NORMGRAD_SANITIZE)
  string(REPLACE ",undefined" "" sanitizers "${NORMGRAD_SANITIZE}")
  target_compile_options(normgrad_options INTERFACE
    -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(normgrad_options INTERFACE -fsanitize=${NORMGRAD_SANITIZE})
endif()

# For every test's program. ThreadSanitizer learns of OpenMP's barriers from Archer, which lies beside libomp, and must not
# look into libomp itself. It ends a child of fork that starts a thread, unless it is told not to.
set(sanitizer_environment)
if(NORMGRAD_SANITIZE STREQUAL thread AND NORMGRAD_TESTS)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-resource-dir
    OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_library(NORMGRAD_ARCHER archer HINTS ${resources}/../.. REQUIRED)
  set(sanitizer_environment OMP_TOOL_LIBRARIES=${NORMGRAD_ARCHER}
    TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0)
endif()

# For the text of src/, also where a test includes it, and for the fuzz targets: checks that would cost the tests half of
# their compile time. Undefined behaviour, but for enums: a C caller may pass any number, and our entry points answer it.
# What the tests reach (gcov); threads count together.
add_library(normgrad_source_checks INTERFACE)
if(NORMGRAD_SANITIZE MATCHES undefined)
  target_compile_options(normgrad_source_checks INTERFACE
    -fsanitize=undefined -fno-sanitize=enum -fno-sanitize-recover=all)
endif()
if(NORMGRAD_COVERAGE)
  target_compile_options(normgrad_source_checks INTERFACE --coverage -fprofile-update=atomic -O0)
  target_link_options(normgrad_options INTERFACE --coverage)
endif()

# What becomes part of a library: position independent, hidden unless marked.
add_library(normgrad_library_options INTERFACE)
target_link_libraries(normgrad_library_options INTERFACE normgrad_options normgrad_source_checks)
target_compile_options(normgrad_library_options INTERFACE -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden> -fPIC)

# A shared library with a version script and a run path that survives moving the prefix. The sanitizers' own symbols are
# undefined in it: their runtime is linked into the program.
function(normgrad_shared_library target version_script)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:normgrad_library_options>)
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${version_script} LINKER:--no-undefined-version LINKER:--as-needed
    # Streams may hold work, and threads may run, whose code is in here: dlclose leaves it in place.
    LINKER:-z,nodelete)
  if(NOT NORMGRAD_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS ${version_script}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    # The installed bytes from the start. CMake pads a build's own run path with empty entries, which mean the current
    # directory.
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN")
endfunction()

# For sanitizers the standard library's headers are read once for a library: of some 75 files in src/, half of what they take
# to compile. Not elsewhere: there a file that lacks an include of its own is found out.
function(normgrad_read_headers_once target)
  if(NORMGRAD_SANITIZE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex> <optional> <string> <vector>)
  endif()
endfunction()
