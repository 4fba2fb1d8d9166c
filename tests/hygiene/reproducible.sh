#!/bin/sh
# reproducible.sh SOURCE BUILD WORK: builds the libraries of BUILD again, from a copy of the source in another place, at
# another time, in another time zone, without ccache, and compares byte for byte.
set -eu
source=$1 build=$2 work=$3

rm -rf "$work"
copy=$work/a_place_with_another_name/source
mkdir -p "$copy"
# Not in the order of the original, and with today's dates.
for part in src include cmake CMakeLists.txt; do cp -R "$source/$part" "$copy"; done

# What decides on the code: the same as there.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
set -- -G "$(cached CMAKE_GENERATOR)"
for variable in CMAKE_BUILD_TYPE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS \
  CMAKE_CXX_FLAGS_RELEASE CMAKE_SHARED_LINKER_FLAGS NORMGRAD_SANITIZE; do
  set -- "$@" "-D$variable=$(cached "$variable")"
done
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
export TZ=UTC-13 CCACHE_DISABLE=1
"$CMAKE" -S "$copy" -B "$work/b" "$@" -DNORMGRAD_TESTS=OFF -DNORMGRAD_BENCHMARKS=OFF -DNORMGRAD_EXAMPLES=OFF >/dev/null
"$CMAKE" --build "$work/b" --parallel "$(nproc)"
"$CMAKE" --install "$work/b" --prefix "$work/prefix" >/dev/null

compared=0 different=0
for library in "$work"/prefix/lib/*.so; do
  [ ! -L "$library" ] || continue
  compared=$((compared + 1))
  cmp "$library" "$build/lib/${library##*/}" || different=$((different + 1))
done
echo "$compared libraries compared, $different differ"
[ "$compared" = 6 ] || exit 1
[ "$different" = 0 ] || exit 1
rm -rf "$work"
