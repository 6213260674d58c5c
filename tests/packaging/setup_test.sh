#!/usr/bin/env bash
# packaging/setup installs only missing packages, chooses the right libtorch, and explains its errors.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"

# make_torch FOLDER VERSION [CUDA]: makes the files of a libtorch that setup reads. VERSION may have a local
# part, which only version.py holds: 2.13.0+cpu
make_torch() {
  mkdir -p "$1/share/cmake/Torch"
  touch "$1/share/cmake/Torch/TorchConfig.cmake" "$1/__init__.py"
  echo "set(PACKAGE_VERSION \"${2%%+*}\")" >"$1/share/cmake/Torch/TorchConfigVersion.cmake"
  echo "__version__ = '$2'" >"$1/version.py"
  if [ -n "${3:-}" ]; then
    echo "cuda: Optional[str] = '$3'"
  else
    echo "cuda: Optional[str] = None"
  fi >>"$1/version.py"
}

system_is() { printf '%s\n' "$@" >"$scratch/os-release"; }
export HIGHWATER_OS_RELEASE=$scratch/os-release
debian12() { system_is ID=debian VERSION_ID=12; }
debian13() { system_is ID=debian VERSION_ID=13; }

# Stand-ins for the package tools: $scratch/installed lists the installed packages, $scratch/calls the calls.
# python3 has a torch only if $scratch/python-torch exists.
reset() {
  rm -rf "$scratch/build" "$scratch/.venv" "$scratch/calls" "$scratch/python-torch"
  : >"$scratch/calls"
  echo "$every_package" >"$scratch/installed"
}
every_package=$(bash -c '. <(sed -n "/^readonly apt_packages=/,/\"$/p" "$1"); echo $apt_packages' _ \
  packaging/setup)
[[ $every_package == *qt6-base-dev*fonts-inter* ]] || { echo "package list not read"; exit 1; }
stand_in dpkg-query <<E2
for name in \$(cat "$scratch/installed"); do printf 'installed:%s ' "\$name"; done
E2
stand_in apt-get <<E2
echo "apt-get \$*" >>"$scratch/calls"
case " \$* " in *" install "*) echo "$every_package libtorch-dev libopenblas0-pthread" >"$scratch/installed" ;; esac
E2
stand_in apt-cache <<<'exit 0'
stand_in sudo <<<'exec "$@"'
stand_in dpkg <<E2
grep -qw libtorch-dev "$scratch/installed" && cat "$scratch/libtorch-dev-files" 2>/dev/null
E2
real_python=$(command -v python3)
stand_in python3 <<E2
case "\$*" in
  *find_spec*) [ ! -d "$scratch/python-torch" ] || echo "$scratch/python-torch/torch/share/cmake/Torch" ;;
  *urllib*) echo "asked \$3" >>"$scratch/calls" && exit 1 ;;
  *"import torch"*) [ -d "$scratch/python-torch" ] ;;
  *) exec "$real_python" "\$@" ;;
esac
E2
reference=$scratch/reference
make_torch "$reference" 2.13.0

# Nothing is missing: nothing is installed, also at the second time.
reset && debian12
for round in 1 2; do
  Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup
  expect_status 0
  expect_said "ready; libtorch 2.13.0 of the environment's Torch_DIR"
  [ ! -s "$scratch/calls" ] || broken "round $round called a package tool"
  [ "$(cat build/libtorch)" = "$reference/share/cmake/Torch" ] || broken "build/libtorch is wrong"
  [ "$(cat build/libtorch.version)" = 2.13.0 ] || broken "build/libtorch.version is wrong"
done

# --check names what is missing, and neither installs nor writes.
reset
echo "git python3" >"$scratch/installed"
attempt packaging/setup --check
expect_status 1
expect_said " cmake "
expect_said " qt6-base-dev "
expect_not_said " git "
expect_said "missing: a libtorch, 2.6 or newer"
[ ! -s "$scratch/calls" ] || broken "--check called a package tool"
[ ! -e build ] || broken "--check wrote to build/"
reset
Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup --check
expect_status 0
expect_said "nothing is missing"

# What is missing is installed, and only that.
reset
echo "${every_package/ninja-build/}" >"$scratch/installed"
Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup
expect_status 0
grep -q -- "install -y --no-install-recommends ninja-build$" "$scratch/calls" || broken "wrong packages"

# --lint asks for the linters too, in a version that is new enough for .clang-tidy.
for system in "debian 12 clang-format clang-tidy-16 lld-19 libicu-dev" "debian 13 clang-format clang-tidy lld-19 libicu-dev" \
  "ubuntu 24.04 clang-format clang-tidy lld-19 libicu-dev"; do
  read -r id version linters <<<"$system"
  reset && system_is "ID=$id" "VERSION_ID=$version"
  Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup --check
  expect_status 0
  Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup --check --lint
  expect_status 1
  expect_said "missing packages: $linters"
  Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup --lint
  expect_status 0
  grep -q -- "install -y --no-install-recommends $linters$" "$scratch/calls" || broken "wrong packages"
done
debian12

# The order of the libtorchs.
reset
make_torch "$scratch/python-torch/torch" 2.7.1
attempt packaging/setup
expect_status 0
expect_said "libtorch 2.7.1 of your python3"
CMAKE_PREFIX_PATH=/nowhere:$reference attempt packaging/setup
expect_said "libtorch 2.13.0 of the environment's CMAKE_PREFIX_PATH"

# A libtorch that is too old, or for CUDA without its toolkit: skipped if it was found, an error if the
# environment names it.
make_torch "$scratch/old" 1.13.1
CMAKE_PREFIX_PATH=$scratch/old attempt packaging/setup
expect_status 0
expect_said "passing over"
expect_said "libtorch 2.7.1 of your python3"
Torch_DIR=$scratch/old/share/cmake/Torch attempt packaging/setup
expect_status 1
expect_said "is version 1.13.1, and Highwater needs 2.6 or newer"
Torch_DIR=$scratch attempt packaging/setup
expect_status 1
expect_said "holds no TorchConfig.cmake"
make_torch "$scratch/python-torch/torch" 2.13.0 12.9
if ! command -v nvcc >/dev/null; then
  attempt packaging/setup --check
  expect_status 1
  expect_said "is built for CUDA, and the CUDA toolkit (nvcc) is not installed"
fi
# A part of the toolkit: what CMake says is the reason. It is asked once, not for the libtorch that is recorded.
stand_in nvcc <<<'exit 0'
stand_in cmake <<E2
[ "\$1" = --version ] || touch "$scratch/cmake-was-asked"
exec "$(command -v cmake)" "\$@"
E2
echo 'message(FATAL_ERROR "no CUDA libraries:\ncublas is missing")' \
  >"$scratch/python-torch/torch/share/cmake/Torch/TorchConfig.cmake"
attempt packaging/setup --check
expect_status 1
expect_said "built for CUDA, and its CMake package does not take this CUDA toolkit: no CUDA libraries: cublas is missing"
: >"$scratch/python-torch/torch/share/cmake/Torch/TorchConfig.cmake"
attempt packaging/setup
expect_status 0
expect_said "libtorch 2.13.0 of your python3"
rm "$scratch/cmake-was-asked"
attempt packaging/setup
expect_status 0
[ ! -e "$scratch/cmake-was-asked" ] || broken "the recorded libtorch was tried again"
rm "$tools/nvcc" "$tools/cmake"

# An upgrade in place is a new version at the same place.
make_torch "$scratch/python-torch/torch" 2.14.0+cpu
attempt packaging/setup
expect_status 0
[ "$(cat build/libtorch.version)" = 2.14.0+cpu ] || broken "the new version was not recorded"

# Debian 13's libtorch-dev is taken, and installed where it is missing; Debian 12's never is.
# It is not in a Python package, so that it has no version.py.
debian_config=$scratch/usr/lib/x86_64-linux-gnu/cmake/Torch
mkdir -p "$debian_config"
echo 'set(PACKAGE_VERSION "2.6.0")' >"$debian_config/TorchConfigVersion.cmake"
touch "$debian_config/TorchConfig.cmake"
echo "$debian_config/TorchConfig.cmake" >"$scratch/libtorch-dev-files"
reset && debian13
attempt packaging/setup
expect_status 0
expect_said "libtorch 2.6.0 of Debian's libtorch-dev"
grep -q "install .* libtorch-dev libopenblas0-pthread$" "$scratch/calls" || broken "libtorch-dev was not installed"
[ "$(cat build/libtorch)" = "$debian_config" ] || broken "build/libtorch is wrong"
[ "$(cat build/libtorch.version)" = 2.6.0 ] || broken "build/libtorch.version is wrong"
# Its BLAS is installed also where libtorch-dev is there already, and only with Debian's libtorch.
reset && debian13
echo "$every_package libtorch-dev" >"$scratch/installed"
attempt packaging/setup
expect_status 0
grep -q "install .* libopenblas0-pthread$" "$scratch/calls" || broken "the BLAS was not installed"
reset
Torch_DIR=$reference/share/cmake/Torch attempt packaging/setup
[ ! -s "$scratch/calls" ] || broken "a libtorch of one's own needs no BLAS from Debian"
reset && debian12
echo "$every_package libtorch-dev" >"$scratch/installed"
attempt packaging/setup --check
expect_status 1
expect_said "missing: a libtorch"

# With a wheel in pip's find-links no index is used, and only the CPU build is accepted.
mkdir -p "$scratch/links"
make_torch "$scratch/wheel/torch" 2.13.0
mkdir "$scratch/wheel/torch-2.13.0+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n' \
  >"$scratch/wheel/torch-2.13.0+cpu.dist-info/METADATA"
printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
  >"$scratch/wheel/torch-2.13.0+cpu.dist-info/WHEEL"
touch "$scratch/wheel/torch-2.13.0+cpu.dist-info/RECORD"
(cd "$scratch/wheel" && "$real_python" -m zipfile -c "$scratch/links/torch-2.13.0+cpu-py3-none-any.whl" ./*)
reset && debian12
PIP_NO_INDEX=1 PIP_FIND_LINKS=$scratch/links PIP_CONFIG_FILE=/dev/null attempt packaging/setup
expect_status 0
expect_said "libtorch 2.13.0 of the checkout's .venv"
[ ! -s "$scratch/calls" ] || broken "an index was looked for"

# The Python packages of the tests: missing ones are mentioned, and installed once they are available.
expect_said "could not install numpy expecttest perfetto into .venv; the tests that need them are left out"
PIP_CONFIG_FILE=/dev/null attempt packaging/setup --check
expect_status 0
expect_said "numpy expecttest perfetto"
for name in numpy expecttest perfetto; do
  rm -rf "$scratch/wheel" && mkdir -p "$scratch/wheel/$name" "$scratch/wheel/$name-1.0.dist-info"
  touch "$scratch/wheel/$name/__init__.py" "$scratch/wheel/$name-1.0.dist-info/RECORD"
  printf 'Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n' "$name" >"$scratch/wheel/$name-1.0.dist-info/METADATA"
  printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
    >"$scratch/wheel/$name-1.0.dist-info/WHEEL"
  (cd "$scratch/wheel" && "$real_python" -m zipfile -c "$scratch/links/$name-1.0-py3-none-any.whl" ./*)
done
for round in 1 2; do
  PIP_NO_INDEX=1 PIP_FIND_LINKS=$scratch/links PIP_CONFIG_FILE=/dev/null attempt packaging/setup
  expect_status 0
  expect_not_said "could not install"
  case $round in
    1) expect_said "installing numpy expecttest perfetto into .venv" ;;
    2) expect_not_said "installing" ;;
  esac
done
mv "$scratch/links/torch-2.13.0+cpu-py3-none-any.whl" "$scratch/links/torch-2.13.0-py3-none-any.whl"

# If PyTorch cannot be fetched, the error says where it comes from and what else to do.
reset
PIP_NO_INDEX=1 PIP_FIND_LINKS=$scratch/links PIP_CONFIG_FILE=/dev/null attempt packaging/setup
expect_status 1
expect_said "could not install torch==2.13.0+cpu into .venv"
expect_said "is there a network"
expect_said "are for CUDA, and not taken"
grep -q "^asked https://download.pytorch.org/" "$scratch/calls" || broken "PyTorch's index was not looked for"
expect_said "Torch_DIR"

# On unknown systems it lists what to install by hand, and HIGHWATER_SKIP_PACKAGES goes on.
for unknown in "ID=ubuntu VERSION_ID=22.04" "ID=debian VERSION_ID=11" "ID=fedora PRETTY_NAME=Fedora"; do
  # shellcheck disable=SC2086
  reset && system_is $unknown
  attempt packaging/setup --check
  expect_status 1
  expect_said "Install by hand: a C++20 compiler"
done
Torch_DIR=$reference/share/cmake/Torch HIGHWATER_SKIP_PACKAGES=1 attempt packaging/setup
expect_status 0
[ ! -s "$scratch/calls" ] || broken "a package tool was called on an unknown system"

# On macOS 14 a PyTorch that needs macOS 15 is passed over.
stand_in uname <<<'case $1 in -sm) echo Darwin arm64 ;; *) echo Darwin ;; esac'
stand_in xcode-select <<<'echo /Library/Developer/CommandLineTools'
stand_in clang++ <<<'exit 0'
make_torch "$scratch/newest" 2.15.0
for version in 14.7.1 15.0; do
  stand_in sw_vers <<<"echo $version"
  reset
  HIGHWATER_SKIP_PACKAGES=1 CMAKE_PREFIX_PATH=$scratch/newest:$reference attempt packaging/setup --check
  expect_status 0
  case $version in
    14*)
      expect_said "is version 2.15.0, which needs macOS 15, and this is macOS 14.7.1"
      expect_said "libtorch 2.13.0 of"
      ;;
    15*) expect_said "libtorch 2.15.0 of" ;;
  esac
done

# A Mac without the command line tools: python3 is a stub that opens a dialog, and is not called.
stand_in uname <<<'case $1 in -sm) echo Darwin arm64 ;; *) echo Darwin ;; esac'
stand_in sw_vers <<<'echo 14.5'
stand_in xcode-select <<<'exit 2'
mv "$tools/python3" "$tools/python3.kept"
stand_in python3 <<<"echo called >>'$scratch/calls'"
reset
attempt packaging/setup --check
expect_status 1
expect_said "xcode-select --install"
[ ! -s "$scratch/calls" ] || broken "python3 was called before the command line tools were looked for"
mv "$tools/python3.kept" "$tools/python3"
rm "$tools/uname"

attempt packaging/setup --nonsense
expect_status 2
expect_said "unknown option --nonsense"
