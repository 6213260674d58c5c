#!/usr/bin/env bash
# configure of packaging/common.sh does not take packages of an active conda environment, of which the PATH names the
# programs; what lies deeper in it, such as a PyTorch, can be named. usage: conda_test.sh SOURCE_DIR CMAKE
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
ln -s "$2" "$tools/cmake"
status=- out='' said=''

conda="$scratch/a conda"
torch=$conda/lib/python3.12/site-packages/torch
mkdir -p "$conda/bin" "$conda/lib/cmake/stray" "$torch/share/cmake/Torch" "$torch/lib" build
echo 'set(stray_FOUND ON)' >"$conda/lib/cmake/stray/strayConfig.cmake"
echo "find_library(TORCH_LIBRARY torch PATHS \"$torch/lib\")" >"$torch/share/cmake/Torch/TorchConfig.cmake"
touch "$torch/lib/libtorch.so" "$torch/lib/libtorch.dylib"
echo "$torch/share/cmake/Torch" >build/libtorch
echo 2.13.0 >build/libtorch.version
cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.25)
project(Stray LANGUAGES NONE)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so .dylib)
find_package(stray CONFIG QUIET)
find_package(Torch CONFIG REQUIRED)
message(STATUS "stray: ${stray_FOUND}")
message(STATUS "torch: ${TORCH_LIBRARY}")
C
cat >CMakePresets.json <<'C'
{"version": 6, "configurePresets": [{"name": "tiny", "generator": "Ninja"}]}
C

# tiny [NAME=VALUE...]: what CMake finds with the environment active and these variables
tiny() {
  rm -rf build/tiny
  attempt env "PATH=$conda/bin:$PATH" "$@" bash -ec '. packaging/common.sh && configure tiny'
  expect_status 0
  out=$(grep -E 'stray|torch:' build/tiny/configure.log)
}
tiny
[[ $out == *"stray: 1"* ]] || broken "CMake should find what the PATH leads to: the test is worthless"
tiny "CONDA_PREFIX=$conda"
[[ $out == *"stray: 0"* ]] || broken "a package of conda was taken"
[[ $out == *"torch: $torch/lib/"* ]] || broken "the PyTorch in conda was not found"
tiny "CONDA_PREFIX=$conda" "CMAKE_PREFIX_PATH=/usr:$conda"
[[ $out == *"stray: 1"* ]] || broken "a prefix that is asked for was not taken"
