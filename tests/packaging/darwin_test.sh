#!/usr/bin/env bash
# packaging/setup, packaging/run and tests/run as they run on a Mac: every branch for Darwin, with stand-ins for
# uname, sw_vers, xcode-select, brew and sysctl. usage: darwin_test.sh SOURCE_DIR
# A Mac's bash is 3.2.57. HIGHWATER_OLD_BASH=PATH names one to run the scripts with; otherwise they run in
# bash's compatibility mode, and old_bash_test.sh looks for what 3.2 does not know.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
if [ -n "${HIGHWATER_OLD_BASH:-}" ]; then
  ln -s "$HIGHWATER_OLD_BASH" "$tools/bash"
else
  export BASH_COMPAT=3.2
fi

# A Mac of $scratch/machine ("Darwin arm64") and $scratch/macos ("15.5"), with the command line tools if
# $scratch/tools-path exists. Homebrew lies in $scratch/brew; its list of formulae says what is installed.
stand_in uname <<S
machine=\$(cat "$scratch/machine")
case \${1:-} in -sm) echo "\$machine" ;; *) echo "\${machine%% *}" ;; esac
S
stand_in sw_vers <<<"cat '$scratch/macos'"
stand_in xcode-select <<<"cat '$scratch/tools-path' 2>/dev/null || exit 2"
stand_in clang++ <<<"cat >'$scratch/compiled'; [ ! -e '$scratch/broken-clang' ] || { echo 'You have not agreed to the Xcode license agreements'; exit 69; }"
stand_in sysctl <<<'case $2 in hw.ncpu) echo 10 ;; hw.memsize) echo 6442450944 ;; *) exit 1 ;; esac'
brew_stand_in() {
  stand_in brew <<S
echo "brew \$*" >>"$scratch/calls"
case \$1 in
  --prefix) echo "$scratch/brew" ;;
  info) [ ! -e "$scratch/old-homebrew" ] ;;
  install)
    [ ! -e "$scratch/break-brew" ] || { echo "brew is broken on purpose" >&2; exit 1; }
    shift && for name in "\$@"; do mkdir -p "$scratch/brew/opt/\$name"; done ;;
esac
S
}
formulae="cmake ninja ccache pkgconf qtbase qtsvg flatbuffers zstd cli11 nlohmann-json protozero"
stand_in cmake <<'S'
[ "$1" = --version ] && echo "cmake version 3.31.0" && exit
echo "cmake $*" >>calls
case $1 in
  --preset)
    for option in "$@"; do
      case $option in -D*) option=${option#-D} && echo "${option%%=*}:STRING=${option#*=}" ;; esac
    done >"build/$2/CMakeCache.txt"
    touch "build/$2/build.ninja" ;;
  --build) mkdir -p "$2/bin" && cp program "$2/bin/highwater" ;;
esac
S
# As on a Mac, no target of the simulated device exists.
stand_in ninja <<<'case "$*" in *simmps*) exit 1 ;; esac'
stand_in ctest <<<'echo "ctest $* with $QT_QPA_PLATFORM"'
stand_in git <<<'exit 0'
# The user's python3 has no torch; that of the venv makes one where pip is asked to. With $scratch/new-python it
# is of a version that PyTorch has no wheels for.
real_python=$(command -v python3)
stand_in python3 <<S
[ ! -e "$scratch/new-python" ] || exit 1
echo "python3 \$*" | head -1 >>"$scratch/python-calls"
case "\$*" in
  *find_spec* | *"import torch"*) exit 0 ;;
  *ensurepip*) exit 0 ;;
  *"-m venv"*) mkdir -p "\$3/bin" && cp "$scratch/venv-python" "\$3/bin/python" ;;
  *) exec "$real_python" "\$@" ;;
esac
S
for other in python3.10 python3.11 python3.12 python3.14; do stand_in "$other" <<<'exit 1'; done
# As Homebrew installs it.
stand_in python3.13 <<S
[ -e "$scratch/brew/opt/python@3.13" ] || exit 1
case "\$*" in *"-m venv"*) mkdir -p "\$3/bin" && cp "$scratch/venv-python" "\$3/bin/python" ;; esac
S
cat >venv-python <<'S'
#!/usr/bin/env bash
case "$*" in
  *"pip install"*torch==*)
    echo "pip $*" >>calls
    torch=.venv/lib/python3.12/site-packages/torch
    mkdir -p $torch/share/cmake/Torch $torch/../numpy $torch/../expecttest $torch/../perfetto
    touch $torch/share/cmake/Torch/TorchConfig.cmake
    echo "__version__ = '2.13.0'" >$torch/version.py
    echo 'set(PACKAGE_VERSION "2.13.0")' >$torch/share/cmake/Torch/TorchConfigVersion.cmake ;;
esac
S
printf '#!/usr/bin/env bash\necho "highwater $*"\n' >program
chmod +x program venv-python
echo '{}' >CMakePresets.json
touch -t 202001010000 CMakePresets.json

reset() {
  rm -rf build .venv calls python-calls brew break-brew old-homebrew new-python broken-clang
  : >calls
  echo "Darwin arm64" >machine
  echo 15.5 >macos
  echo /Library/Developer/CommandLineTools >tools-path
  brew_stand_in
  for name in $formulae; do mkdir -p "brew/opt/$name"; done
}

# All is there but libtorch: it comes from PyPI, without +cpu, into .venv.
reset
attempt packaging/setup
expect_status 0
expect_said "ready; libtorch 2.13.0 of the checkout's .venv"
grep -q 'pip .* torch==2.13.0$' calls || broken "another PyTorch was installed"
! grep -q 'brew install' calls || broken "something was installed by brew"

# The first run of both of the README's commands. Without a display (a login over the network) the main job.
SSH_CONNECTION=here attempt packaging/run
expect_status 0
[[ $out == "highwater record --steps 200 "*"highwater export "* ]] || broken "the main job should run"
grep -q -- '--parallel 4 --target highwater highwater-worker$' calls ||
  broken "jobs for 6 GiB, and no target of the simulated device"
(unset SSH_CONNECTION; packaging/run 2>/dev/null) >window-out
[ "$(cat window-out)" = "highwater " ] || broken "with a display the window should open"
attempt tests/run -R wire
expect_status 0
expect_out "ctest --preset release -R wire with offscreen"

# Formulae that are missing are installed, and only those; git and python are found without Homebrew.
reset
rm -r brew/opt/zstd brew/opt/qtsvg
attempt packaging/setup --check
expect_status 1
expect_said "missing packages: qtsvg zstd"
attempt packaging/setup
expect_status 0
grep -q '^brew install qtsvg zstd$' calls || broken "wrong formulae"
# All of Qt in one formula is enough; a Homebrew that has no qtbase gets that one.
reset
rm -r brew/opt/qtbase brew/opt/qtsvg && mkdir brew/opt/qt
attempt packaging/setup
expect_status 0
! grep -q 'brew install' calls || broken "Qt is there"
reset
rm -r brew/opt/qtbase && touch old-homebrew
attempt packaging/setup
expect_status 0
grep -q '^brew install qt$' calls || broken "qt was not installed for qtbase"
reset
rm -r brew/opt/qtbase brew/opt/qtsvg && touch old-homebrew
attempt packaging/setup
expect_status 0
grep -q '^brew install qt$' calls || broken "qt was not installed for both"

# A Python that PyTorch has no wheels for: one that it has is installed, and makes the virtual environment.
reset
touch new-python
cp packaging/libtorch.sh libtorch.kept
sed 's|/usr/bin/python3|/no/such/python3|' libtorch.kept >packaging/libtorch.sh # a Mac's is Python 3.9
attempt packaging/setup
mv libtorch.kept packaging/libtorch.sh
expect_status 0
grep -q '^brew install python@3.13$' calls || broken "no Python was installed"

# What can go wrong says what to do.
reset
rm -r brew/opt/zstd && touch break-brew
attempt packaging/setup
expect_status 1
expect_said "brew install failed"
expect_said "By hand: brew install zstd"
reset
rm "$tools/brew"
PATH="$tools:/usr/bin:/bin" attempt packaging/setup
expect_status 1
expect_said "Homebrew"
reset
echo 13.6 >macos
attempt packaging/setup
expect_status 1
expect_said "macOS 13.6 is too old"
# Homebrew has no bottles for macOS 14: only what is there already can be used.
reset
echo 14.7 >macos && rm -r brew/opt/qtbase
attempt packaging/setup
expect_status 1
expect_said "Homebrew has no built packages for macOS 14.7 any more"
expect_said "install by hand: qtbase"
! grep -q 'brew install' calls || broken "brew would compile Qt"
HIGHWATER_SKIP_PACKAGES=1 attempt packaging/setup
expect_status 0
reset
echo 14.7 >macos
attempt packaging/setup
expect_status 0
reset
rm tools-path
attempt packaging/setup
expect_status 1
expect_said "xcode-select --install"
[ ! -e python-calls ] || broken "python3 was called before the command line tools were looked for"
reset
touch broken-clang && rm -r brew/opt/zstd
attempt packaging/setup
expect_status 1
expect_said "You have not agreed to the Xcode license agreements"
expect_said "sudo xcodebuild -license accept"
! grep -q 'brew install' calls || broken "something was installed before the compiler was tried"
# What is asked of the compiler is C++20.
for compiler in g++ clang++-16; do
  ! command -v "$compiler" >/dev/null || "$compiler" -std=c++20 -fsyntax-only -x c++ compiled ||
    broken "$compiler does not take it"
done
reset
echo "Darwin x86_64" >machine
attempt packaging/setup
expect_status 1
expect_said "PyTorch has no builds for Intel Macs any more"
