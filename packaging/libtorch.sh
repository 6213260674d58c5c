# shellcheck shell=bash
# Sourced by packaging/setup. Chooses the libtorch that the build uses, in this order:
#   1. the environment's Torch_DIR, or a Torch package under its CMAKE_PREFIX_PATH
#   2. the torch of the user's python3
#   3. Debian 13 and later: the package libtorch-dev
#   4. PyTorch's reference version in a virtual environment in the checkout, .venv
# Debian 12's libtorch (1.13) is older than the minimum and is never used.
#
# find_libtorch sets torch_dir (the folder of TorchConfig.cmake), torch_version and torch_from, or leaves
# them empty if there is none. It installs nothing.

torch_dir='' torch_version='' torch_from=''
readonly from_debian="Debian's libtorch-dev"

# torch_usable DIR: sets torch_version, or fails and says why in torch_refused.
torch_usable() {
  local dir=$1 version_file=$1/TorchConfigVersion.cmake
  torch_refused=
  if [ ! -e "$dir/TorchConfig.cmake" ]; then
    torch_refused="holds no TorchConfig.cmake"
    return 1
  fi
  torch_version=$(sed -n 's/^ *set(PACKAGE_VERSION "\{0,1\}\([0-9.]*\).*/\1/p' "$version_file" 2>/dev/null |
    head -1)
  if ! at_least "${torch_version:-0.0}" "$torch_minimum"; then
    torch_refused="is version ${torch_version:-unknown}, and Highwater needs $torch_minimum or newer"
    return 1
  fi
  if [ -n "$macos_version" ] && at_least "$torch_version" 2.15 && [ "${macos_version%%.*}" -lt 15 ]; then
    torch_refused="is version $torch_version, which needs macOS 15, and this is macOS $macos_version"
    return 1
  fi
  # The CMake package of a CUDA build stops the configuration if the CUDA toolkit is not installed.
  if grep -Eq "^cuda.*= *'" "$(python_version_file "$dir")" 2>/dev/null; then
    if ! command -v nvcc >/dev/null; then
      torch_refused="is built for CUDA, and the CUDA toolkit (nvcc) is not installed"
      return 1
    fi
    torch_configures "$dir" || return 1
  fi
}

# The file of a PyTorch wheel that holds its version and what it was built for
python_version_file() { echo "$(cd "$1/../../.." 2>/dev/null && pwd)/version.py"; }

# torch_build DIR: prints the version with what version numbers of CMake leave out: 2.13.0+cpu. A libtorch that
# is not in a Python package, such as Debian's, has no such file.
torch_build() {
  local version
  version=$(sed -n "s/^__version__ *= *'\([^']*\)'.*/\1/p" "$(python_version_file "$1")" 2>/dev/null) || true
  echo "${version:-$torch_version}"
}

# True if the libtorch of DIR is the one that is recorded, in the same version.
is_recorded() {
  [ "$(cat "$libtorch_record" 2>/dev/null)" = "$1" ] &&
    [ "$(cat "$libtorch_version_record" 2>/dev/null)" = "$(torch_build "$1")" ]
}

# torch_configures DIR: tries the CMake package, for a toolkit may lack what it asks for; fails with CMake's
# words in torch_refused. This takes seconds: not for the libtorch that is recorded.
torch_configures() {
  local probe said
  ! is_recorded "$1" && command -v cmake >/dev/null || return 0
  probe=$(mktemp -d)
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(Probe CXX)' 'find_package(Torch REQUIRED)' \
    >"$probe/CMakeLists.txt"
  if said=$(cmake -S "$probe" -B "$probe/build" "-DTorch_DIR=$1" 2>&1); then
    rm -rf "$probe"
    return 0
  fi
  rm -rf "$probe"
  # The error is what is indented under this heading.
  said=$(printf '%s\n' "$said" | awk 'at == 1 && /^[^ ]/ { at = 2 }
    at == 1 && NF > 0 { $1 = $1; printf " %s", $0 }
    /^CMake Error/ && !at { at = 1 }')
  torch_refused="is built for CUDA, and its CMake package does not take this CUDA toolkit:${said:- no reason given}"
  return 1
}

# take DIR WHERE: chooses that libtorch if it is usable, otherwise fails and says why
take() {
  if torch_usable "$1"; then
    torch_dir=$1 torch_from=$2
  else
    say "passing over the libtorch of $2: $1 $torch_refused"
    return 1
  fi
}

torch_from_environment() {
  local prefix folder prefixes
  if [ -n "${Torch_DIR:-}" ]; then
    torch_usable "$Torch_DIR" || fail "Torch_DIR is set, but $Torch_DIR $torch_refused" \
      "Unset it, or point it at the folder of a TorchConfig.cmake of PyTorch $torch_minimum or newer."
    torch_dir=$Torch_DIR torch_from="the environment's Torch_DIR"
    return 0
  fi
  prefixes=$(printf '%s' "${CMAKE_PREFIX_PATH:-}" | tr ':;' '\n\n')
  while IFS= read -r prefix; do
    [ -n "$prefix" ] || continue
    for folder in Torch share/cmake/Torch lib/cmake/Torch cmake/Torch; do
      [ -e "$prefix/$folder/TorchConfig.cmake" ] || continue
      ! take "$prefix/$folder" "the environment's CMAKE_PREFIX_PATH" || return 0
    done
  done <<<"$prefixes"
  return 1
}

# Importing torch takes seconds, so it is tried only where that torch is not the one that is recorded.
torch_from_python() {
  local dir
  dir=$(python3 -c '
import importlib.util as util, os
spec = util.find_spec("torch")
if spec and spec.origin: print(os.path.join(os.path.dirname(spec.origin), "share/cmake/Torch"))
' 2>/dev/null) || return 1
  [ -n "$dir" ] || return 1
  if ! is_recorded "$dir" && ! python3 -c 'import torch' 2>/dev/null; then
    say "passing over the torch of your python3: importing it fails"
    return 1
  fi
  take "$dir" "your python3"
}

torch_from_distribution() {
  [ "$system" = debian ] && [ "$debian_version" -ge 13 ] || return 1
  local config
  config=$(dpkg -L libtorch-dev 2>/dev/null | grep '/TorchConfig\.cmake$' | head -1)
  [ -n "$config" ] && take "$(dirname "$config")" "$from_debian"
}

torch_from_venv() {
  local config
  for config in "$checkout"/.venv/lib/python3.*/site-packages/torch/share/cmake/Torch; do
    [ -d "$config" ] || continue
    ! take "$config" "the checkout's .venv" || return 0
  done
  return 1
}

find_libtorch() {
  torch_from_environment || torch_from_python || torch_from_distribution || torch_from_venv || true
}

# Prints the minor number of the oldest Python 3 that PyTorch's reference version has wheels for.
oldest_python() { if at_least "$torch_reference" 2.15; then echo 11; else echo 10; fi; }

# Prints a Python that PyTorch's reference version has wheels for and that can make virtual environments.
python_for_venv() {
  local python oldest
  oldest=$(oldest_python)
  for python in python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10 python3.14; do
    if "$python" -c '
import sys, venv, ensurepip
sys.exit(not (3, int(sys.argv[1])) <= sys.version_info[:2] <= (3, 14))' "$oldest" 2>/dev/null; then
      echo "$python"
      return 0
    fi
  done
  return 1
}

# PyTorch's own testing modules import these; some tests of the simulated device use those modules.
# Building and running need neither, so failing to install them is no error.
readonly test_packages="numpy expecttest perfetto"

# True if .venv is in use and lacks one of them. Nothing is ever installed into the user's own Python.
test_packages_missing() {
  [ "$torch_from" = "the checkout's .venv" ] || return 1
  local name
  for name in $test_packages; do
    [ -d "$torch_dir/../../../../$name" ] || return 0
  done
  return 1
}

install_test_packages() {
  say "installing $test_packages into .venv, for the tests"
  # shellcheck disable=SC2086
  "$checkout/.venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 \
    $test_packages >&2 || {
    say "could not install $test_packages into .venv; the tests that need them are left out"
    printf '  %s\n' "pip's reason is above; they come from https://pypi.org, and packaging/setup tries again" >&2
  }
}

torch_cpu_index=https://download.pytorch.org/whl/cpu

# reaches PYTHON URL: true if the URL can be opened
reaches() {
  "$1" -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=10).close()' "$2" 2>/dev/null
}

install_libtorch() {
  local venv=$checkout/.venv python requirement="torch==$torch_reference" quiet=
  local way_out="Or point Torch_DIR at the folder of another TorchConfig.cmake ($torch_minimum or newer)."
  local source_of_it="It comes from https://pypi.org:"
  [ "$(uname -sm)" != "Darwin x86_64" ] ||
    fail "PyTorch has no builds for Intel Macs any more" "$way_out"
  python=$(python_for_venv) ||
    fail "no python3 between 3.$(oldest_python) and 3.14 that can make virtual environments was found" \
      "Debian and Ubuntu: apt-get install python3-venv; macOS: brew install python@3.13" "$way_out"
  say "installing PyTorch $torch_reference into .venv (about 200 MB to fetch, 1 GB on disk)"
  "$python" -m venv "$venv" >&2 || fail "$python could not make the virtual environment $venv" \
    "Debian and Ubuntu: apt-get install python3-venv" "$way_out"
  set -- --disable-pip-version-check
  if [ "$(uname -s)" = Linux ]; then
    # PyPI's builds for Linux are for CUDA: gigabytes that Highwater cannot use. None is named +cpu.
    requirement="$requirement+cpu"
    source_of_it="It comes from $torch_cpu_index (PyPI's builds for Linux are for CUDA, and not taken):"
    # With a wheel in one of pip's find-links no index is needed; an unreachable one would cost time.
    if ! "$venv/bin/python" -m pip install -q --no-index --no-deps --dry-run "$@" "$requirement" \
      >/dev/null 2>&1 && reaches "$python" "$torch_cpu_index/torch/"; then
      set -- "$@" --extra-index-url "$torch_cpu_index"
    fi
  fi
  [ -t 2 ] || quiet=-q
  "$venv/bin/python" -m pip install $quiet "$@" "$requirement" >&2 ||
    fail "could not install $requirement into .venv; pip's reason is above" \
      "$source_of_it" \
      "is there a network, and do pip's settings (proxy, index) reach it?" "$way_out"
  find_libtorch
  [ -n "$torch_dir" ] || fail "PyTorch was installed into .venv, but cannot be used" "$way_out"
  "$venv/bin/python" -W ignore -c 'import torch' >&2 ||
    fail "PyTorch was installed into .venv, but does not load; the reason is above" "$way_out"
}
