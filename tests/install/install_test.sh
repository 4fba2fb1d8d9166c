#!/bin/sh
# One step of the test of the installed package.
#   install_test.sh install <build directory> <work directory>
#   install_test.sh <step> <work directory> <tests/install of the source tree> [program ...]
# The package is installed into one directory and then moved: nothing in it may know where it was.
set -eu

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

install_and_move() {  # <build directory> <work directory>
  rm -rf "$2"
  mkdir -p "$2"
  "${CMAKE:-cmake}" --install "$1" --prefix "$2/installed" >/dev/null
  mv "$2/installed" "$2/prefix"
}

acl_program() { echo "$source/../../examples/aclnn_batch_norm_backward.cpp"; }

find_package() {  # <cmake> <C compiler> <C++ compiler>
  "$1" -S "$source/client" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$2" \
    -DCMAKE_CXX_COMPILER="$3" -DACL_PROGRAM="$(acl_program)" -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON >/dev/null
  "$1" --build "$work/cmake"
  "$work/cmake/client"
  "$work/cmake/acl_client"
}

pkg_config() {  # <C compiler> <pkg-config> <C++ compiler>
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  # Only the operators' own package: it names what it needs.
  # shellcheck disable=SC2046
  "$3" "$(acl_program)" $("$2" --cflags --libs opapi_nn) -o "$work/acl_client_pkg_config"
  LD_LIBRARY_PATH="$prefix/lib" "$work/acl_client_pkg_config"
  flags=$("$2" --cflags --libs infiniop infinirt)
  echo "$flags"
  # shellcheck disable=SC2086
  "$1" "$source/client/client.c" $flags -o "$work/client_pkg_config"
  LD_LIBRARY_PATH="$prefix/lib" "$work/client_pkg_config"
}

plain_compiler() {  # <C compiler>
  . "$prefix/set_env.sh"
  "$1" "$source/client/client.c" -I"$INFINI_ROOT/include" -L"$INFINI_ROOT/lib" -linfiniop -linfinirt -lnormgrad \
    -o "$work/client_plain"
  "$work/client_plain"
}

python_client() {  # <python>
  INFINI_ROOT="$prefix" "$1" "$source/ctypes_client.py"
}

# By name alone: LD_LIBRARY_PATH has to find it.
acl_dlopen() {  # <python>
  . "$prefix/set_env.sh"
  "$1" "$source/acl_ctypes_client.py" "$prefix/include"
}

# Every shell, sourced by an absolute and a relative path, with and without an LD_LIBRARY_PATH, and twice.
set_env() {
  print='echo "$INFINI_ROOT|$ASCEND_HOME_PATH|$ASCEND_TOOLKIT_HOME|$ASCEND_CUSTOM_PATH|$LD_LIBRARY_PATH"'
  for shell in sh dash bash "bash --posix" zsh; do
    command -v "${shell%% *}" >/dev/null || continue
    for file in "$prefix/set_env.sh" ./prefix/set_env.sh ../"${work##*/}"/prefix/set_env.sh; do
      for before in "" /some/where; do
        expected="$prefix|$prefix|$prefix|$prefix|$prefix/lib${before:+:$before}"
        got=$(cd "$work" && LD_LIBRARY_PATH="$before" $shell -eu -c ". $file; . $file; $print")
        [ "$got" = "$expected" ] || fail "$shell, . $file: $got instead of $expected"
      done
    done
    echo "$shell: ok"
  done
}

contents() {  # <readelf> <build directory> <source directory of the project>
  [ "$(readlink "$prefix/lib64")" = lib ] || fail "lib64 is not a link to lib"
  for file in include/infiniop.h include/infinirt.h include/infinicore.h include/infiniop/handle.h \
    include/infiniop/ops/rms_norm_backward.h include/normgrad/last_error.h include/acl/acl.h \
    include/acl/error_codes/rt_error_codes.h include/aclnn/acl_meta.h include/aclnnop/aclnn_ops_nn.h \
    include/aclnnop/level2/aclnn_batch_norm_backward.h set_env.sh lib/cmake/normgrad/normgrad-config.cmake; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
  done
  for name in normgrad infinirt infiniop ascendcl nnopbase opapi_nn; do
    [ -f "$prefix/lib/pkgconfig/$name.pc" ] || fail "lib/pkgconfig/$name.pc is not installed"
    dynamic=$("$1" -d "$prefix/lib/lib$name.so")
    echo "$dynamic" | grep -q "SONAME.*\[lib$name.so\]" || fail "lib$name.so has another SONAME"
    echo "$dynamic" | grep -q 'R.*PATH.*\[\$ORIGIN\]' || fail "lib$name.so has a run path other than \$ORIGIN: $dynamic"
  done
  "$1" -d "$prefix/lib/libinfiniop.so" | grep -q 'NEEDED.*\[libinfinirt.so\]' ||
    fail "libinfiniop.so does not need libinfinirt.so"
  for link in acl_rt:ascendcl acl_op_compiler:ascendcl opapi_math:opapi_nn opapi:opapi_nn; do
    [ "$(readlink "$prefix/lib/lib${link%:*}.so")" = "lib${link#*:}.so" ] ||
      fail "lib${link%:*}.so is not a link to lib${link#*:}.so"
  done
  for directory in "$2" "$3" "$work"; do
    ! grep -rIl -F "$directory" "$prefix" || fail "these files name $directory"
  done
}

if [ "$1" = install ]; then
  install_and_move "$2" "$3"
else
  step=$1 work=$2 source=$3 prefix=$2/prefix
  shift 3
  "$step" "$@"
fi
