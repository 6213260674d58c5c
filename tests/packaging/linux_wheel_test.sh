#!/usr/bin/env bash
# packaging/linux/wheel says what is wrong with the build before it compiles anything. usage: linux_wheel_test.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
unset HIGHWATER_TORCH
cat >packaging/setup <<'S'
#!/usr/bin/env bash
mkdir -p build && echo "$PWD/libtorch/share/cmake/Torch" >build/libtorch
S
stand_in cmake <<<'echo "cmake was called" >&2; exit 1'
mkdir -p .venv/bin libtorch/share/cmake/Torch other/share/cmake/Torch

attempt packaging/linux/wheel
expect_status 1
expect_said "the build has no Python of its own (.venv)"

stand_in python <<<'echo "no module named torch" >&2; exit 1'
ln -s "$tools/python" .venv/bin/python
attempt packaging/linux/wheel
expect_status 1
expect_said "the build's Python (.venv) has no PyTorch that can be imported"

stand_in python <<<"echo '$scratch/other'"
attempt packaging/linux/wheel
expect_status 1
expect_said "the wheel's worker is for the PyTorch of .venv, and the build is with $scratch/libtorch/share"
expect_not_said "cmake was called"

# By whichever path.
ln -s libtorch linked
stand_in python <<<"echo '$scratch/linked'"
attempt packaging/linux/wheel
expect_said "cmake was called"
