#!/bin/sh
# ccache COMPILER...: the compiler through ccache, also for files with precompiled headers (ccache's manual, "Precompiled headers"). The
# headers themselves are compiled every time: clang notes in them where files lie, and the cache may come from another folder.
ccache=$1
shift
case " $* " in
  *" -emit-pch "*) exec "$@" ;;
esac
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$ccache" "$@"
