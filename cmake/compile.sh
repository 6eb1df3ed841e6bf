#!/bin/sh
# compile.sh FOLDER CCACHE COMPILER...: the compiler through ccache, also for files with precompiled headers (ccache's manual, "Precompiled
# headers"). The headers themselves are compiled every time, as clang notes in them where files lie. What ccache takes for their contents is
# what they hold without that, so that checkouts in different folders share what it has compiled.
folder=$1
ccache=$2
shift 2
case " $* " in
  *" -emit-pch "*)
    output=$(printf '%s\n' "$@" | grep -A1 -x -e -o | tail -n 1)
    "$@" || exit
    {
      "$1" --version
      printf '%s\n' "$@" | sed "s|$folder||g"
      "$1" -std=c++20 -x c++ -E -P "$folder/cmake/Standard.h"
    } | sha256sum > "$output.sum"
    ;;
  *)
    # The one path that ccache leaves as it is.
    for word; do
      shift
      case $word in "$PWD"/*/cmake_pch.hxx) word=${word#"$PWD"/} ;; esac
      set -- "$@" "$word"
    done
    CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros exec "$ccache" "$@"
    ;;
esac
