#!/usr/bin/env bash
# usage: wall_test.sh PROGRAM FORBIDDEN REQUIRED   (extended regular expressions over library names)
set -euo pipefail
program=$1 forbidden=$2 required=$3

if [ "$(uname -s)" = Darwin ]; then
  libraries=$(otool -L "$program" | sed 1d)
else
  libraries=$(ldd "$program") # with what the libraries load in turn
fi
names=$(printf '%s\n' "$libraries" | awk '{print $1}' | sed 's,.*/,,')
if ! grep -Eq "$required" <<<"$names"; then
  printf '%s should load %s, so this list is not to be trusted:\n%s\n' "$program" "$required" "$libraries"
  exit 1
fi
if grep -E "$forbidden" <<<"$names"; then
  printf '%s must not load the above\n' "$program"
  exit 1
fi
