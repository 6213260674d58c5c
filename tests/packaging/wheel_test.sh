#!/usr/bin/env bash
# The wheel for Linux, installed where there is no PyTorch: what it brings, what it says, and that it watches a script.
# usage: wheel_test.sh WHEEL PYTHON       PYTHON: one with the PyTorch that the wheel's worker is for
set -euo pipefail
[ $# = 2 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
wheel=$(realpath "$1")
python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2") # not what it links to: that has no PyTorch
training=$(cd "$(dirname "$0")" && pwd)/tiny_training.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

broken() {
  printf 'wheel_test: %s\n' "$@" >&2
  exit 1
}

# Without this user's settings, libraries and environments.
clean() { env -i HOME="$scratch/home" PATH=/usr/bin:/bin QT_QPA_PLATFORM=offscreen LANG=C.UTF-8 "$@"; }

python3 -m venv "$scratch/an environment"
environment="$scratch/an environment"
"$environment/bin/pip" install -q --no-index --no-deps "$wheel" || broken "pip does not install it"
highwater="$environment/bin/highwater"
package=$(echo "$environment"/lib/python3*/site-packages/highwater_mps)
[ "$(clean "$highwater" --version)" = "highwater $("$environment/bin/pip" show highwater-mps | sed -n 's/^Version: //p')" ] ||
  broken "highwater --version does not start, or says another version than the wheel"

# All but the C library, the C++ run time and libtorch comes with it.
for file in "$package"/program/bin/highwater* "$package"/program/lib/*.so "$package"/program/Qt/plugins/*/*.so; do
  foreign=$(clean ldd "$file" | grep -vE '^\s*(linux-vdso|/lib64/ld-linux|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so)' |
    grep -vE '^\s*lib(torch|torch_cpu|c10)\.so => not found' | grep -vF "$package/program/" || true)
  [ -z "$foreign" ] || broken "$file uses libraries that the wheel does not bring:" "$foreign"
done

doc=$package/program/share/doc/highwater
for file in NOTICES.md licences/{Qt.txt,Qt-svg.txt,ICU.txt,libxcb1.txt,LGPL-3}; do
  [ -s "$doc/$file" ] || broken "the wheel lacks $file, which its parts ask for"
done
for file in $(grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]' "$doc/licences" | sort -u); do
  [ -s "$doc/licences/${file##*/}" ] || broken "the wheel lacks the text of $file, which its licences name"
done
for file in $(grep -oE '`[A-Za-z0-9.-]+\.txt`' "$doc/NOTICES.md" | tr -d '`'); do
  [ -s "$doc/licences/$file" ] || broken "the wheel lacks licences/$file, which NOTICES.md names"
done
own=$(head -qn 1 "${package%/*}"/highwater_mps-*.dist-info/licenses/* | tr -s ' \n' ' ')
[ "$own" = " GNU GENERAL PUBLIC LICENSE MIT License " ] || broken "its own licences are not beside its metadata: $own"

clean "$environment/bin/python" -c "import highwater_mps; assert highwater_mps.knob('a', 3) == 3" ||
  broken "the package cannot be imported"

# The samples want a PyTorch that there is a worker for.
! clean "$highwater" record --steps 2 -o a.highwater >log 2>&1 || broken "the sample should need PyTorch"
grep -q "the samples need PyTorch .*pip install torch==" log || broken "it does not say what is missing:" "$(cat log)"
folder=$(dirname "$(dirname "$python")")
clean VIRTUAL_ENV="$folder" "$highwater" record --steps 3 --batch 4 --seq 16 -o a.highwater >log 2>&1 ||
  broken "the sample does not run:" "$(cat log)"
clean "$highwater" report a.highwater >report || broken "no report"
grep -q simulated report || broken "the report does not say that the device is simulated"
clean "$highwater" export a.highwater --to a.png >log 2>&1 || broken "no picture:" "$(cat log)"
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] || broken "a.png is no picture"

clean "$highwater" run --device sim --record b.highwater -- "$python" "$training" >log 2>&1 ||
  broken "a script is not watched:" "$(cat log)"
! grep -q "building its part" log || broken "the wheel's own probe was not used:" "$(cat log)"
clean "$highwater" report b.highwater --json >report.json || broken "no report of the script"
python3 -c 'import json; assert json.load(open("report.json"))["steps"] == 30' ||
  broken "the script's 30 steps were not seen"

# Another Qt's plugins are not for the wheel's Qt, and its libraries not for the wheel's programs.
for plugins in /usr/lib/*/qt6/plugins; do
  [ -d "$plugins" ] || continue
  clean QT_PLUGIN_PATH="$plugins" LD_LIBRARY_PATH="$(dirname "$(dirname "$plugins")")" LD_DEBUG=files \
    "$highwater" export a.highwater --to a.png --force >log 2>&1 || broken "no picture beside another Qt:" "$(cat log)"
  ! grep -F "$plugins" log || broken "it loads another Qt's plugins"
done

# From another place.
cp -r "$package/program" "$scratch/moved"
clean "$scratch/moved/bin/highwater" report a.highwater >/dev/null || broken "it does not run from another folder"
