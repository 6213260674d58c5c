# shellcheck shell=bash
# Sourced by the tests of the scripts: copies the scripts into a scratch checkout, $scratch, puts $tools, a
# folder for stand-ins, first on the PATH, and defines assertions. usage: . asserts.sh SOURCE_DIR
source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools=$scratch/tools
mkdir -p "$tools" "$scratch/tests" "$scratch/.ci"
cp -r "$source_dir/packaging" "$scratch/packaging"
cp "$source_dir/tests/run" "$scratch/tests/run"
cp "$source_dir/.ci/run" "$scratch/.ci/run"
export PATH="$tools:$PATH"
unset Torch_DIR CMAKE_PREFIX_PATH HIGHWATER_SKIP_PACKAGES HIGHWATER_WERROR HIGHWATER_PRESET
cd "$scratch" || exit

# stand_in NAME <<script
stand_in() {
  { echo '#!/usr/bin/env bash' && cat; } >"$tools/$1"
  chmod +x "$tools/$1"
}

# attempt COMMAND...: sets status, out (stdout) and said (stderr)
attempt() {
  status=0
  out=$("$@" 2>"$scratch/said") || status=$?
  said=$(cat "$scratch/said")
}

broken() {
  printf 'line %s: %s\n-- status %s, stdout:\n%s\n-- stderr:\n%s\n' "${BASH_LINENO[1]}" "$1" "$status" \
    "$out" "$said"
  exit 1
}

expect_status() { [ "$status" = "$1" ] || broken "status should be $1"; }
expect_said() { [[ $said == *"$1"* ]] || broken "stderr should say: $1"; }
expect_not_said() { [[ $said != *"$1"* ]] || broken "stderr should not say: $1"; }
expect_out() { [ "$out" = "$1" ] || broken "stdout should be: $1"; }
