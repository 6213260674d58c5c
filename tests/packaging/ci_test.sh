#!/usr/bin/env bash
# .ci/run with stand-ins for what it calls: everything runs even where something failed, every failure is named and makes
# the status not zero, the times are printed, and ctest's closing lines come last. Then packaging/format and
# packaging/tidy by themselves, which it calls: what they look at, and that a complaint is a failure.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
unset HIGHWATER_CI_BASE HIGHWATER_TIDY_LIMIT HIGHWATER_JOBS HIGHWATER_TORCH

closing='100% tests passed, 0 tests failed out of 3

Total Test time (real) =   0.10 sec'
mkdir kept
cp packaging/{format,tidy} kept/
cat >tests/run <<S
#!/usr/bin/env bash
echo tests >>calls
echo "preset \$HIGHWATER_PRESET, werror \$HIGHWATER_WERROR, arguments \$*"
[ -e no-ctest ] && exit 1
echo "$closing"
exit \$(cat tests-status)
S
cat >packaging/setup <<'S'
#!/usr/bin/env bash
[ ! -e no-setup ] || exit 3
echo "setup $*" >calls
mkdir -p build && echo "$PWD/torch" >build/libtorch
S
cat >packaging/macos/cross-link <<'S'
#!/usr/bin/env bash
[ -e calls ] && echo "linked"
exit $(cat link-status)
S
cat >packaging/linux/wheel <<'S'
#!/usr/bin/env bash
echo wheel >>calls
echo "made" >&2
echo "a folder/a.whl"
S
mkdir -p tests/packaging
cat >tests/packaging/wheel_test.sh <<'S'
#!/usr/bin/env bash
echo "test of $1" >>calls
exit $(cat wheel-status)
S
chmod +x tests/packaging/wheel_test.sh
echo 0 >wheel-status
echo 'print("the check of the wheel")' >tests/packaging/check_wheel_test.py
cat >packaging/format <<'S'
#!/usr/bin/env bash
echo "format $*" >>calls
exit $(cat format-status)
S
cat >packaging/tidy <<'S'
#!/usr/bin/env bash
echo "tidy $* limit $HIGHWATER_TIDY_LIMIT" >>calls
exit $(cat tidy-status)
S
stand_in cmake <<S
case "\$1" in
--preset) echo "configure \$2" >>"$scratch/calls" && touch "$scratch/build/\$2/build.ninja" ;;
--build) echo build >>"$scratch/calls" && [ ! -e "$scratch/break-build" ] ;;
esac
S
stand_in ninja <<<'exit 0'

# outcome [TESTS] [LINK] [FORMAT] [TIDY]: runs with those statuses
outcome() {
  echo "${1:-0}" >tests-status
  echo "${2:-0}" >link-status
  echo "${3:-0}" >format-status
  echo "${4:-0}" >tidy-status
  rm -rf build
  attempt .ci/run -R wire
  [[ $out == *"preset ci, werror 1, arguments -R wire"* ]] || broken "tests/run was not called with that preset and those arguments"
  [[ $out == *linked* ]] || broken "the link was not called"
  [ "${2:-0}" != 0 ] || [[ $out == *"the check of the wheel"* ]] || broken "nothing checked what is linked for macOS"
  [ "$(tr '\n' ' ' <calls)" = "setup --lint configure ci build format --check tidy --changed limit 150 wheel test of a folder/a.whl tests " ] ||
    broken "all stages, in their order: $(cat calls)"
  local name
  for name in set-up configure build lint wheel tests link all; do
    grep -qE "^ci: $name +[0-9]+( |$)" <<<"$out" || broken "the table lacks the seconds of $name"
  done
  [ -e no-ctest ] || [[ $out == *"$closing" ]] || broken "ctest's closing lines should be last"
}

# expect_failed [NAME...]: these, and no others, are named as failed, in that order
expect_failed() {
  local named wanted=''
  named=$(sed -n 's/^ci: failed: \(.*\) (status [0-9]*)$/\1/p' <<<"$out")
  [ $# = 0 ] || wanted=$(printf '%s\n' "$@")
  [ "$named" = "$wanted" ] || broken "named as failed: $named; should be: $wanted"
}

outcome
expect_status 0
expect_failed
outcome 8
expect_status 8
expect_failed "the tests"
outcome 0 5
expect_status 5
expect_failed "the link for macOS"
outcome 0 0 1
expect_status 1
expect_failed "the format"
outcome 0 0 0 1
expect_status 1
expect_failed "clang-tidy"
outcome 0 0 1 1
expect_status 1
expect_failed "the format and clang-tidy"
echo 6 >wheel-status
outcome
expect_status 6
expect_failed "the wheel for Linux"
echo 0 >wheel-status
outcome 8 5 0 1
expect_status 8
expect_failed "clang-tidy" "the tests" "the link for macOS"
touch break-build
outcome
expect_status 1
expect_failed "the build"
rm break-build

touch no-ctest
outcome
expect_status 1
[[ $out == *"ctest did not finish"* ]] || broken "should say that there is no result"

touch no-setup
rm calls
attempt .ci/run
expect_status 3
[ ! -e calls ] && [[ $out != *linked* ]] || broken "nothing should run where the set-up failed"

# What takes minutes and checks nothing that the change touches is left out, and named; not where that is not known.
rm no-ctest no-setup
for name in tests-status link-status format-status tidy-status; do echo 0 >"$name"; done
left_out='arguments -LE ^(conformance|sanitizers|op_database|scripts)$'
attempt .ci/run
[[ $out != *-LE* ]] || broken "without a repository all tests should run"
git init -q -b main .
git config user.email test@example.org
git config user.name Test
mkdir -p src/core src/simmps/policy
touch src/simmps/policy/queue.cpp src/core/messages.h
git add -A .ci packaging src tests && git commit -qm "the base"
HIGHWATER_CI_BASE=HEAD attempt .ci/run
[[ $out == *'-LE ^(conformance|sanitizers|streams|op_database|built_library|guest|scripts)$'* ]] || broken "an empty change touches nothing"
echo "# changed" >>packaging/macos/cross-link
HIGHWATER_CI_BASE=HEAD attempt .ci/run
[[ $out == *'-LE ^(conformance|sanitizers|streams|op_database|built_library|guest)$'* ]] ||
  broken "a script for another system is checked by the tests of scripts alone"
git checkout -q packaging/macos/cross-link
echo "int changed;" >src/core/messages.h
HIGHWATER_CI_BASE=HEAD attempt .ci/run
expect_status 0
[[ $out == *"$left_out"* && $out == *"ci: not run, as "*" (as asked for): ctest -L '^(conformance|sanitizers|op_database|scripts)$'"*"$closing" ]] ||
  broken "what the change does not touch should be left out and named"
HIGHWATER_CI_ALL=1 HIGHWATER_CI_BASE=HEAD attempt .ci/run
[[ $out != *-LE* && $out != *"ci: not run"* ]] || broken "HIGHWATER_CI_ALL should run all tests"
echo "int changed;" >src/simmps/policy/queue.cpp
HIGHWATER_CI_BASE=HEAD attempt .ci/run
[[ $out == *'-LE ^(scripts)$'* ]] || broken "what the change touches should be checked"
echo "# changed" >>packaging/setup
HIGHWATER_CI_BASE=HEAD attempt .ci/run
[[ $out != *-LE* ]] || broken "all tests depend on how things are built"
rm -rf .git src

# --- packaging/format, in a repository: complaints name the files and the command; without --check it mends them.
cp kept/{format,tidy} packaging/
unset HIGHWATER_PRESET
git init -q -b main .
git config user.email test@example.org
git config user.name Test
commit() { # commit HOURS_AGO
  git add -A src tests
  GIT_COMMITTER_DATE="@$(($(date +%s) - $1 * 3600)) +0000" git commit -qm "$1 hours ago"
}
printf 'int old();\n' >tests/old.cpp
mkdir -p src/core src/wire src/probe
printf 'int a();\n' >src/core/a.cpp
printf '#include "core/b.h"\n' >src/core/b.cpp
printf 'int b();\n' >src/core/b.h
printf '#include "core/b.h"\n' >src/wire/c.cpp
printf '#include "core/b.h"\n' >src/wire/d.cpp
printf 'int mac();\n' >src/probe/e_macos.cpp
commit 30
# The stand-in takes two blanks for a fault.
for name in clang-format-14 clang-format; do
  stand_in $name <<'S'
[ "$1" != --version ] || { echo "Debian clang-format version 14.0.6" && exit; }
status=0
for file in "$@"; do
  case $file in -*) continue ;; esac
  grep -q '  ' "$file" || continue
  if [ "$1" = -i ]; then
    sed -i 's/   */ /g' "$file"
  else
    echo "$file:1:4: error: code should be clang-formatted [-Wclang-format-violations]" >&2
    status=1
  fi
done
exit $status
S
done
attempt packaging/format --check
expect_status 0
expect_said "7 files are formatted"
printf 'int  a();\n' >src/core/a.cpp
printf 'int  fresh();\n' >tests/fresh.cpp
rm tests/old.cpp
attempt packaging/format --check
expect_status 1
expect_said "  src/core/a.cpp"
expect_said "  tests/fresh.cpp"
expect_not_said "b.h"
expect_said "mend it with: packaging/format"
grep -q 'int  a' src/core/a.cpp || broken "--check changed a file"
attempt packaging/format
expect_status 0
attempt packaging/format --check
expect_status 0
grep -q 'int a' src/core/a.cpp || broken "packaging/format did not mend the file"
for name in clang-format-14 clang-format; do stand_in $name <<<'echo "error: broken on purpose" && exit 1'; done
attempt packaging/format --check
[ "$status" != 0 ] || broken "a clang-format that does not run is no clean format"

# --- packaging/tidy
mkdir -p build
echo "$PWD/torch" >build/libtorch
stand_in cmake <<S
echo "\$*" >>"$scratch/calls"
python3 - "$scratch" >"$scratch/build/tidy/compile_commands.json" <<'P'
import glob, json, sys
top = sys.argv[1]
print(json.dumps([{"directory": top, "command": f"compiler -fno-plt -c {path}", "file": path}
                  for path in sorted(glob.glob(top + "/src/**/*.cpp", recursive=True)) if "macos" not in path]))
P
S
stand_in ninja <<<'case "$*" in *"-t targets"*) echo "highwater_views_autogen: phony" ;; esac'
# Complains of every file that says FAULT.
for name in clang-tidy-16 clang-tidy; do
  stand_in $name <<S
[ "\$1" != --version ] || { echo "  Debian LLVM version 16.0.6" && exit; }
for file in "\$@"; do :; done
echo "\$file" | sed "s|^$scratch/||" >>"$scratch/looked"
echo "12 warnings generated." >&2
! grep -q fno-plt "$scratch/build/tidy/clang/compile_commands.json" || { echo "unknown flag" && exit 1; }
case "\$*" in *"--header-filter=^"*"/src/"*) ;; *) echo "no header filter" && exit 1 ;; esac
! grep -n FAULT "\$file"
S
done
# expect_looked FILE...: it looked at these, in any order, and at no others
expect_looked() {
  [ "$(sort "$scratch/looked" 2>/dev/null)" = "$([ $# = 0 ] || printf '%s\n' "$@" | sort)" ] ||
    broken "looked at: $(cat "$scratch/looked" 2>/dev/null)"
  rm -f "$scratch/looked"
}

# On main itself the last commit that is a day older: here the first. Of a changed header its source and one that
# includes it; nothing of tests/, nothing that another system compiles.
printf 'int b(); // changed\n' >src/core/b.h
printf 'int mac(); // changed\n' >src/probe/e_macos.cpp
commit 20
printf 'int a(); // changed\n' >src/core/a.cpp
commit 1
git update-ref refs/remotes/origin/main HEAD
: >calls
attempt packaging/tidy --changed
expect_status 0
expect_looked src/core/a.cpp src/core/b.cpp src/wire/c.cpp
expect_said "the last commit that is a day older than HEAD"
grep -q -- '--preset debug .*-DHIGHWATER_UNITY=OFF.*-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON' calls ||
  broken "clang-tidy and --includes need one file a unit and no precompiled headers"
# The newest change comes first.
head -1 build/tidy/wanted | grep -q src/core/a.cpp || broken "order: $(cat build/tidy/wanted)"

# A branch: since it left origin/main. And as asked for, by name or environment; what is not committed counts too.
printf 'int d(); // changed\n' >>src/wire/d.cpp
commit 0
attempt packaging/tidy --changed
expect_status 0
expect_looked src/wire/d.cpp
expect_said "where HEAD left origin/main"
attempt packaging/tidy --changed HEAD
expect_status 0
expect_looked
expect_said "looked at 0 files"
printf 'int fresh();\n' >src/wire/fresh.cpp
HIGHWATER_CI_BASE=HEAD attempt packaging/tidy --changed
expect_looked src/wire/fresh.cpp
attempt packaging/tidy --changed HEAD^^
expect_looked src/core/a.cpp src/wire/d.cpp src/wire/fresh.cpp
attempt packaging/tidy --changed nonsense
expect_status 1
expect_said "there is no commit nonsense"

# A complaint: shown, without clang's count of what it suppressed, and a failure. Others are looked at all the same.
printf 'int x; // FAULT\n' >>src/core/a.cpp
attempt packaging/tidy 'core/'
expect_status 1
expect_looked src/core/a.cpp src/core/b.cpp
[[ $out == *FAULT* && $out != *"warnings generated"* ]] || broken "the complaint should be shown"
expect_said "complaints about: src/core/a.cpp"
HIGHWATER_JOBS=2 attempt packaging/tidy --changed HEAD
expect_status 1

expect_looked src/core/a.cpp src/wire/fresh.cpp

# The limit: what was not looked at is named. It is no failure.
HIGHWATER_TIDY_LIMIT=0 attempt packaging/tidy --changed HEAD
expect_status 0
expect_looked
expect_said "not looked at, after the limit of 0 s: src/wire/fresh.cpp src/core/a.cpp"

# --includes calls the compiler for every source.
stand_in compiler <<S
echo "\$*" >>"$scratch/compiled"
case "\$*" in *"/wire/d.cpp -fsyntax-only") echo "error: 'vector' was not declared" >&2 && exit 1 ;; esac
S
attempt packaging/tidy --includes
expect_status 1
expect_looked
[ "$(grep -c -- '-fno-plt -c .*-fsyntax-only$' compiled)" = 5 ] || broken "compiled: $(cat compiled)"
[[ $out == *"'vector' was not declared"* ]] || broken "the error should be shown"
expect_said "complaints about: src/wire/d.cpp"
attempt packaging/tidy --includes core/
expect_status 0

# A clang-tidy that is too old is none.
for name in clang-tidy-16 clang-tidy; do stand_in $name <<<'echo "LLVM version 14.0.6"'; done
if ! command -v clang-tidy-17 clang-tidy-18 clang-tidy-19 clang-tidy-20 clang-tidy-21 clang-tidy-22 >/dev/null; then
  attempt packaging/tidy
  expect_status 1
  expect_said "clang-tidy 16 or newer is missing"
fi
