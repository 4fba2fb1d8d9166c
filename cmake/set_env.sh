# Source this file (". <prefix>/set_env.sh", in any POSIX shell, from any directory): programs then find the libraries
# beside it, and build scripts of InfiniCore and CANN projects this prefix.

# Where this file lies. bash and zsh tell; of another sh Linux knows: the script is its highest open file.
if [ -n "${BASH_SOURCE:-}" ]; then
  _normgrad_file=$BASH_SOURCE
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_normgrad_file=${(%):-%x}'
else
  _normgrad_file=$(
    for fd in 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3; do
      file=$(readlink "/proc/$$/fd/$fd") || continue
      case $file in */set_env.sh) printf '%s\n' "$file" && break ;; esac
    done
  )
fi
_normgrad_prefix=$(CDPATH='' cd -- "$(dirname -- "$_normgrad_file")" 2>/dev/null && pwd -P)

if [ -z "$_normgrad_file" ] || [ ! -e "$_normgrad_prefix/lib/libinfiniop.so" ]; then
  echo "set_env.sh: cannot find the directory this file lies in; nothing is set" >&2
else
  export INFINI_ROOT="$_normgrad_prefix"
  export ASCEND_HOME_PATH="$_normgrad_prefix"
  export ASCEND_TOOLKIT_HOME="$_normgrad_prefix"
  export ASCEND_CUSTOM_PATH="$_normgrad_prefix"
  # No empty entry, which would mean the current directory; no second entry when sourced twice.
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$_normgrad_prefix/lib:"*) ;;
    *) export LD_LIBRARY_PATH="$_normgrad_prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
  esac
fi
unset _normgrad_file _normgrad_prefix
