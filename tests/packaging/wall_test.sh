#!/usr/bin/env bash
# A program loads none of the forbidden libraries. usage: wall_test.sh PROGRAM FORBIDDEN REQUIRED
# FORBIDDEN, REQUIRED: extended regular expressions for names of libraries. Finding REQUIRED proves that the
# list was read.
set -euo pipefail
program=$1 forbidden=$2 required=$3

if [ "$(uname -s)" = Darwin ]; then
  libraries=$(otool -L "$program" | sed 1d)
else
  libraries=$(ldd "$program") # includes the libraries that libraries load
fi
names=$(printf '%s\n' "$libraries" | awk '{print $1}' | sed 's,.*/,,')
if ! grep -Eq "$required" <<<"$names"; then
  printf '%s should load %s, so this list cannot be right:\n%s\n' "$program" "$required" "$libraries"
  exit 1
fi
if grep -E "$forbidden" <<<"$names"; then
  printf '%s must not load the above\n' "$program"
  exit 1
fi
