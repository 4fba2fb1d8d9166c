# arm64 on any Debian machine: its cross compiler, and qemu to run the tests (packages g++-aarch64-linux-gnu, qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Packages that this machine has for its own processor alone: what of them is text serves arm64 too.
set(GTest_DIR ${CMAKE_CURRENT_LIST_DIR})
