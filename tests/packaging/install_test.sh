#!/usr/bin/env bash
# cmake --install: the installed tree runs from any prefix. usage: install_test.sh BUILD_FOLDER CMAKE
set -euo pipefail
build=$1 cmake=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset HIGHWATER_WORKER HIGHWATER_DATASETS LD_LIBRARY_PATH

broken() {
  printf '%s\n' "$@"
  exit 1
}

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" || broken "$(cat "$scratch/log")"
mv "$scratch/first" "$scratch/a prefix"
prefix="$scratch/a prefix"
cd "$scratch"

for file in bin/highwater bin/highwater-worker share/highwater/datasets/issue-texts.train.csv \
  share/highwater/python/highwater_mps/attach/sitecustomize.py share/doc/highwater/LICENSE \
  share/highwater/python/LICENSE; do
  [ -e "$prefix/$file" ] || broken "$file was not installed"
done
if [ "$(uname -s)" = Linux ]; then
  for file in lib/libhighwater_simmps.so lib/libhighwater_simmps_device.so \
    lib/script/libhighwater_script.so \
    share/applications/highwater.desktop share/icons/hicolor/scalable/apps/highwater.svg; do
    [ -e "$prefix/$file" ] || broken "$file was not installed"
  done
  for file in "$prefix"/bin/* "$prefix"/lib/*.so "$prefix"/lib/script/*.so; do
    libraries=$(ldd "$file")
    ! grep -F "not found" <<<"$libraries" || broken "$file lacks the libraries above"
    ! grep -F "$build/" <<<"$libraries" || broken "$file loads the above from the build tree"
  done
fi

"$prefix/bin/highwater" record --steps 2 --batch 4 --seq 16 -o run.highwater >log 2>&1 ||
  broken "record failed:" "$(cat log)"
"$prefix/bin/highwater" report run.highwater >report 2>&1 || broken "report failed:" "$(cat report)"
if [ "$(uname -s)" = Linux ]; then
  grep -q simulated report || broken "the installed simulated device was not used:" "$(cat report)"
fi

# The sample data is the installed one, although the sources that the worker was built from are there too.
: >"$prefix/share/highwater/datasets/issue-texts.train.csv"
! "$prefix/bin/highwater" record --steps 2 -o other.highwater >log 2>&1 ||
  broken "the worker read other data than the installed"
grep -q "issue-texts.train.csv" log || broken "record failed for another reason:" "$(cat log)"
