#!/usr/bin/env bash
# The scripts that run on a Mac use nothing that its bash, 3.2.57, does not know. usage: old_bash_test.sh SOURCE_DIR
# A search for what later versions added (bash's NEWS and CHANGES), not a run: darwin_test.sh runs the scripts.
set -euo pipefail
cd "$1"
scripts=(packaging/{setup,run,format,tidy,with-torch,common.sh,libtorch.sh} tests/run tests/bench/run tests/reliability/run
  tests/packaging/{asserts,conda_test,install_test,lint_test,pch_ccache_test,wall_test,worker_only_test}.sh)

# NAME: EXPRESSION, an extended regular expression
read -r -d '' constructs <<'L' || true
associative arrays, references, globals (4.0, 4.3, 4.2): (declare|local|typeset|readonly) +-[a-zA-Z]*[Ang]
mapfile and readarray (4.0): (^|[;&|({ ])(mapfile|readarray) 
coproc (4.0): (^|[;&|({ ])coproc 
upper and lower case (4.0): \$\{[A-Za-z_0-9@*]+(\[[^]]*\])?(\^|,)
transformations (4.4): \$\{[A-Za-z_0-9]+(\[[^]]*\])?@[QEPAaKkUuL]\}
&>> and |& (4.0): &>>|\|&
;& and ;;& (4.0): ;;?&
globstar and lastpipe (4.0, 4.2): shopt -s .*(globstar|lastpipe|inherit_errexit)
[[ -v ]] and test -v (4.2): (\[\[?|test) +(! +)?-[vR] 
printf %(...)T (4.2): printf .*%\([^)]*\)T
wait -n (4.3): wait +-[a-z]*[npf]
read -N and -i (4.1, 4.0): read +(-[a-z]+ +)*-[a-zA-Z]*[Ni]
a descriptor in a variable (4.1): exec +\{[a-z_]+\}[<>]
negative subscripts (4.3): \$\{[A-Za-z_0-9]+\[-[0-9]
negative lengths (4.2): \$\{[A-Za-z_0-9@]+:[^}:]*: *-
steps in {a..b..c} (4.0): \{[0-9a-z]+\.\.[0-9a-z]+\.\.
new variables (4.0 to 5.1): \$\{?(BASHPID|EPOCHSECONDS|EPOCHREALTIME|SRANDOM|BASH_ARGV0|PROMPT_DIRTRIM)
\u in $'...' (4.2): \$'[^']*\\[uU]
L

status=0
while IFS= read -r line; do
  name=${line%%): *}\) expression=${line#*): }
  for script in "${scripts[@]}"; do
    if found=$(grep -nE -- "$expression" <(sed 's/^ *#.*//' "$script")); then
      printf '%s uses %s:\n%s\n' "$script" "$name" "$found"
      status=1
    fi
  done
done <<<"$constructs"

# Under set -u an empty array counts as unset before 4.4: arrays are only for what is never empty.
for script in packaging/{setup,run,common.sh,libtorch.sh} tests/run; do
  if found=$(grep -nE '\$\{[a-z_]+\[[@*]\]\}' "$script"); then
    printf '%s uses an array, which must not be empty in bash 3.2:\n%s\n' "$script" "$found"
    status=1
  fi
done

# 3.2 takes the parenthesis of a case's pattern inside $( ) for the end of the substitution.
for script in "${scripts[@]}"; do
  python3 - "$script" <<'P' || status=1
import re, sys
text = "\n".join("" if line.lstrip().startswith("#") else line for line in open(sys.argv[1]).read().split("\n"))
bad = 0
for match in re.finditer(r"(?<!\$)\$\((?!\()", text):
    depth, at, inner = 1, match.end(), ""
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        inner += text[at]
        at += 1
    if re.search(r"(^|[;&|(\s])case\s+\S+\s+in\b", inner):
        print(f"{sys.argv[1]}:{text[:match.start()].count(chr(10)) + 1}: case inside $( )")
        bad = 1
sys.exit(bad)
P
done

# The search finds what it looks for.
for sample in 'declare -A x' 'mapfile -t x' '${x^^}' '${x@Q}' 'a |& b' 'x) ;;&' '[[ -v x ]]' 'wait -n' '${x[-1]}' '${x:0:-1}'; do
  hit=
  while IFS= read -r line; do
    if grep -qE -- "${line#*): }" <<<"$sample"; then hit=1; fi
  done <<<"$constructs"
  [ -n "$hit" ] || { echo "the search does not find: $sample" && status=1; }
done
exit $status
