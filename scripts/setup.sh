# shellcheck shell=bash
# What demo, test and bench share: the packages they need, steps that say what they do, builds.
# Sourced; sets $repo, makes it the current directory.

set -euo pipefail
repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd -- "$repo"
command_line="./scripts/$(basename -- "$0")${*:+ $*}"

packages=(
  cmake ninja-build g++  # the build
  nlohmann-json3-dev     # JSON: aclInit's file
  libgtest-dev           # GoogleTest: the tests
  libbenchmark-dev       # Google Benchmark: the benchmarks
  pkg-config python3     # tests of the installed package
)
# shellcheck disable=SC2034  # used where this is sourced
mpi_packages=(libopenmpi-dev openmpi-bin)  # SyncBatchNorm over MPI, an example: demo and test take them
optional_packages=(ccache)  # makes building again quick

die() {
  printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
  exit 1
}

# step NAME COMMAND...: says what happens and how long it took; ends the script if it fails.
steps=0
step() {
  local name=$1 start=$SECONDS
  shift
  steps=$((steps + 1))
  printf '\n==> step %d: %s\n' "$steps" "$name"
  if "$@"; then
    printf '==> step %d: %s: done in %d s\n' "$steps" "$name" $((SECONDS - start))
  else
    printf '==> step %d: %s: FAILED after %d s. Again: %s\n' \
      "$steps" "$name" $((SECONDS - start)) "$command_line" >&2
    exit 1
  fi
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

# quietly LOG COMMAND...: output goes to build/LOG, and is shown if the command fails.
quietly() {
  local log=build/$1
  shift
  mkdir -p build
  "$@" >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    return 1
  }
}

# Installs what is missing, by name, with the system's own package manager; asks for root only then.
install_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null; then
    printf 'This is not Debian: going on with what is there (needed: %s).\n' "${packages[*]}"
    return 0
  fi
  for package in "${packages[@]}"; do is_installed "$package" || missing+=("$package"); done
  if [[ ${#missing[@]} == 0 ]]; then
    printf 'All packages are there: %s\n' "${packages[*]}"
    return 0
  fi
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  printf 'Updating the list of packages (apt-get update)\n'
  quietly apt-update.log "${as_root[@]}" apt-get update || return 1
  for package in "${optional_packages[@]}"; do
    if ! is_installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then
      missing+=("$package")
    fi
  done
  printf 'Installing what building and testing needs (apt-get install): %s\n' "${missing[*]}"
  quietly apt-install.log "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
}

# configure PRESET [CMAKE-OPTION...], build PRESET [BUILD-OPTION...]: in build/PRESET, incrementally.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=pch_defines,time_macros  # as it asks for where headers are precompiled
  export CCACHE_IGNOREOPTIONS='-ffile-prefix-map=*'  # it takes out where a build is, and so differs between builds alike
}
configure() {
  use_ccache
  quietly "configure-$1.log" cmake --preset "$@"
}

build() { cmake --build --preset "$@" -j"$(nproc)"; }
