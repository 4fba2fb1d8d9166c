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
