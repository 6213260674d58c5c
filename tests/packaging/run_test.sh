#!/usr/bin/env bash
# packaging/run and tests/run: what they configure, build and start. Nothing is really built.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"

# The stand-in for cmake leaves the files of a build; the one for highwater prints its arguments.
cat >packaging/setup <<'S'
#!/usr/bin/env bash
mkdir -p build && echo "$PWD/torch" >build/libtorch
cat torch-version >build/libtorch.version
echo "setup: ready" >&2
S
stand_in cmake <<S
echo "cmake \$*" >>"$scratch/calls"
case "\$1" in
--preset)
  [ ! -e "$scratch/break-configure" ] || { echo "CMake Error: broken on purpose"; exit 1; }
  folder="$scratch/build/\$2"
  for option in "\$@"; do
    case \$option in -D*) option=\${option#-D} && echo "\${option%%=*}:STRING=\${option#*=}" ;; esac
  done >"\$folder/CMakeCache.txt"
  touch "\$folder/build.ninja" ;;
--build)
  [ ! -e "$scratch/break-build" ] || { echo "error: broken on purpose"; exit 1; }
  echo "[1/1] Linking, after \$NINJA_STATUS"
  touch "\$2/.ninja_log"
  mkdir -p "\$2/bin" && cp "$scratch/program" "\$2/bin/highwater" ;;
esac
S
stand_in ninja <<'S'
case "$*" in
  *"-t commands highwater highwater-worker") printf 'step\n%.0s' {1..12} ;;
  *highwater_simmps) exit 1 ;;
esac
S
stand_in ctest <<<'echo "ctest $*"; exit 7'
cat >program <<'S'
#!/usr/bin/env bash
echo "highwater $*"
[ "$1" != fail ] || exit 3
S
chmod +x program
echo 2.13.0 >torch-version
echo '{}' >CMakePresets.json
touch -d '2020-01-01' CMakePresets.json
export HIGHWATER_JOBS=1
unset DISPLAY WAYLAND_DISPLAY

# Arguments go to the program; the status and stdout are the program's.
attempt packaging/run report 'a b.highwater' --json
expect_status 0
expect_out "highwater report a b.highwater --json"
expect_said "the first build has about 12 steps, 1 at the same time, and takes minutes"
expect_said "[1/1] Linking, after [%f/%t, %e s]"
expect_said "built build/release in "
attempt packaging/run fail
expect_status 3
expect_not_said "the first build"

# It configured and built the right targets, and did not configure again while nothing had changed.
[ "$(grep -c -- '--preset release' calls)" = 1 ] || broken "configured more than once"
grep -q -- "--preset release -DTorch_DIR=$scratch/torch -DHIGHWATER_TORCH_BUILD=2.13.0 -DHIGHWATER_WERROR=OFF" calls || broken "options"
grep -q -- "--target highwater highwater-worker$" calls || broken "targets"

# A libtorch that was upgraded in place: configured afresh.
echo 2.14.0 >torch-version
attempt packaging/run report
expect_status 0
grep -q -- "--preset release --fresh -DTorch_DIR=$scratch/torch -DHIGHWATER_TORCH_BUILD=2.14.0" calls ||
  broken "did not configure afresh for the new libtorch"

# Without a display: the headless main job. The last line names the picture.
attempt packaging/run
expect_status 0
expect_out "highwater record --steps 200 -o $scratch/build/demo/demo.highwater --force
highwater report $scratch/build/demo/demo.highwater
highwater export $scratch/build/demo/demo.highwater --to $scratch/build/demo/demo.png --force"
expect_said "there is no display"
[[ ${said##*$'\n'} == *"$scratch/build/demo/demo.png" ]] || broken "the last line should name the picture"

# With a display: the window.
DISPLAY=:9 attempt packaging/run
expect_out "highwater "

HIGHWATER_PRESET=debug attempt packaging/run doctor
expect_out "highwater doctor"
grep -q -- '--preset debug' calls || broken "the preset was not taken"

# tests/run: ctest's output and status, its arguments, warnings as errors where asked for.
attempt tests/run -R wire
expect_status 7
expect_out "ctest --preset release -R wire"
HIGHWATER_WERROR=1 attempt tests/run
grep -q -- '--preset release .*-DHIGHWATER_WERROR=ON' calls || broken "warnings are not errors"

touch break-build
attempt packaging/run
expect_status 1
expect_said "error: broken on purpose"
expect_said "the build failed"
touch break-configure && touch CMakePresets.json && rm break-build
attempt packaging/run
expect_status 1
expect_said "CMake Error: broken on purpose"
expect_said "configuring build/release failed"
