#!/usr/bin/env bash
# packaging/macos/wheel says what is wrong before it fetches or compiles anything. usage: mac_wheel_test.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
for tool in cmake ninja cc flatc ld64.lld-19; do stand_in "$tool" <<<'exit 0'; done
stand_in python3 <<'S'
echo "there is no network" >&2
exit 1
S

attempt packaging/macos/wheel 2.13
expect_status 1
expect_said "2.13 is no version of PyTorch; give for example 2.13.0"
attempt packaging/macos/wheel 2.13.0 2.5.1
expect_status 1
expect_said "PyTorch 2.5.1 is too old; Highwater needs 2.6 or newer"

stand_in uname <<<'echo Darwin'
attempt packaging/macos/wheel 2.13.0
expect_status 1
expect_said "this is for Linux"
stand_in uname <<<'echo Linux'

attempt packaging/macos/wheel 2.13.0
expect_status 1
expect_said "could not install zig from PyPI; see $scratch/build/mac-link/wheel/fetch.log"
grep -q "there is no network" build/mac-link/wheel/fetch.log || broken "the reason is not in the log"

# Only what stands in for tools, and what scripts need of the system.
mkdir bare
for tool in bash dirname realpath uname; do ln -s "$(command -v "$tool")" bare/; done
for tool in cmake ninja cc flatc python3; do ln -s "$tools/$tool" bare/; done
attempt env "PATH=$scratch/bare" packaging/macos/wheel 2.13.0
expect_status 1
expect_said "ld64.lld-19 is missing: apt-get install lld-19"
