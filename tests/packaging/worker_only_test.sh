#!/usr/bin/env bash
# The worker alone is configured without Qt, SQLite and zstd. usage: worker_only_test.sh SOURCE CMAKE [-D...]
set -euo pipefail
source=$1 cmake=$2
shift 2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
"$cmake" -S "$source" -B "$build" "$@" -DHIGHWATER_GUI=OFF -DHIGHWATER_TESTS=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_Qt6=ON -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON >"$build/log" 2>&1 || {
  tail -20 "$build/log"
  exit 1
}
# zstd is looked for as a plain library too, which no option disables.
if grep -E '^(Qt6|QT|SQLite3|zstd|HIGHWATER_ZSTD)' "$build/CMakeCache.txt"; then
  echo "the above was looked for"
  exit 1
fi
