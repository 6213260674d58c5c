#!/usr/bin/env bash
# With clang and ccache, precompiled headers serve again after the build folder was deleted. Builds a small
# project with the functions of cmake/HighwaterTargets.cmake.
# usage: pch_ccache_test.sh SOURCE_DIR CMAKE CLANG++ CCACHE
set -euo pipefail
source=$1 cmake=$2 clang=$3 ccache=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/project/src"
cd "$scratch/project"
export CCACHE_DIR=$scratch/cache CCACHE_CONFIGPATH=$scratch/no-configuration
unset CCACHE_DISABLE CCACHE_RECACHE CCACHE_SLOPPINESS CCACHE_READONLY CXXFLAGS

cat >CMakeLists.txt <<C
cmake_minimum_required(VERSION 3.25)
project(Small LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CCACHE "$ccache")
set(CMAKE_CXX_COMPILER_LAUNCHER "$ccache")
include("$source/cmake/HighwaterTargets.cmake")
# A header in the build folder, as FlatBuffers makes them: it is new after each deletion.
file(WRITE "\${PROJECT_BINARY_DIR}/generated.h" "#pragma once\ninline int generated() { return 1; }\n")
add_executable(carrier carrier.cpp)
highwater_compile_options(carrier)
highwater_precompile(carrier <string> <vector> "\${PROJECT_BINARY_DIR}/generated.h")
add_executable(user user.cpp)
highwater_compile_options(user)
highwater_reuse_pch(user carrier)
C
echo 'int main() { return 0; }' >carrier.cpp

# build_with TEXT TIME: builds from nothing, with TEXT in a source file, which ccache has not seen before, and
# with new headers in the build folder, of TIME
build_with() {
  echo "int main() { return std::string(\"$1\").empty() ? generated() : 0; }" >user.cpp
  rm -rf ../build
  {
    "$cmake" -S . -B ../build -G Ninja "-DCMAKE_CXX_COMPILER=$clang" &&
      find ../build -name '*.h*' -exec touch -d "$2" {} + &&
      "$cmake" --build ../build
  } >../log 2>&1 || {
    tail -25 ../log
    echo "the build \"$1\" failed"
    exit 1
  }
  ../build/user
}

# hits: how many compilations ccache has answered from its cache
hits() { "$ccache" --print-stats | awk '/^(direct|preprocessed)_cache_hit\t/ { sum += $2 } END { print sum + 0 }'; }

build_with first 2026-01-01T00:00:00
build_with second 2026-01-02T00:00:00
# Of the second build's three files the precompiled header and carrier.cpp were in the cache.
[ "$(hits)" = 2 ] || {
  "$ccache" --show-stats -v
  echo "ccache answered $(hits) compilations of the second build, not 2"
  exit 1
}
