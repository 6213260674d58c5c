#!/usr/bin/env bash
# .ci/run: tests and link run after the set-up; ctest's closing lines come last; the status is not zero
# if either failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"

closing='100% tests passed, 0 tests failed out of 3

Total Test time (real) =   0.10 sec'
cat >tests/run <<S
#!/usr/bin/env bash
echo "preset \$HIGHWATER_PRESET, werror \$HIGHWATER_WERROR, arguments \$*"
[ -e no-ctest ] && exit 1
echo "$closing"
exit \$(cat tests-status)
S
cat >packaging/setup <<'S'
#!/usr/bin/env bash
[ ! -e no-setup ] || exit 3
touch set-up
S
cat >packaging/macos/cross-link <<'S'
#!/usr/bin/env bash
[ -e set-up ] && echo "linked"
exit $(cat link-status)
S

# outcome TESTS LINK: runs with those two statuses
outcome() {
  echo "$1" >tests-status
  echo "$2" >link-status
  attempt .ci/run -R wire
  [[ $out == *"preset ci, werror 1, arguments -R wire"* ]] || broken "tests/run was not called with that preset and those arguments"
  [[ $out == *linked* ]] || broken "the link was not called"
}

outcome 0 0
expect_status 0
[[ $out == *"linked"*"$closing" ]] || broken "ctest's closing lines should be last"
outcome 8 0
expect_status 8
[[ $out == *"$closing" ]] || broken "ctest's closing lines should be last"
outcome 0 5
expect_status 5
[[ $out == *"the link for macOS failed"*"$closing" ]] || broken "ctest's closing lines should be last"

touch no-ctest
outcome 0 0
expect_status 1
[[ $out == *"ctest did not finish"* ]] || broken "should say that there is no result"

touch no-setup
attempt .ci/run
expect_status 3
[[ $out != *linked* ]] || broken "nothing should run where the set-up failed"
