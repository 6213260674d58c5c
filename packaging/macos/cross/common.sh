# shellcheck shell=bash
# Sourced by packaging/macos/cross-link and packaging/macos/wheel: what both need to compile for macOS arm64 with
# zig's clang. The script sets
#   work           folder of what belongs to one version of Qt and PyTorch
#   toolchain      folder of what belongs to one compiler and linker: wrappers and the build
#   tools          a virtual environment with zig and lief
#   downloads      folder of the wheels
#   zig_version    zig is the way to install a clang with its libc++ and macOS's headers
#   macos_target   the oldest macOS that the programs run on
#   linker         a command that links instead of zig's own linker, with clang's arguments; may be empty
#   torch_version, qt_version

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$here/../common.sh"

stage() { say "$(printf '%4d s  %s' "$SECONDS" "$*")"; }

check_host() {
  local tool
  for tool in cmake ninja cc flatc python3; do
    command -v "$tool" >/dev/null || fail "$tool is missing; run packaging/setup first"
  done
  [ "$(uname -s)" = Linux ] || fail "this is for Linux; on a Mac run packaging/run"
  multiarch=$(cc -print-multiarch)
}

install_tools() {
  mkdir -p "$downloads" "$toolchain"
  [ ! -e "$tools/ready-$zig_version" ] || return 0
  stage "installing zig $zig_version and lief into $tools"
  { python3 -m venv --clear "$tools" && "$tools/bin/pip" install -q "ziglang==$zig_version" lief; } \
    >"$toolchain/fetch.log" 2>&1 || fail "could not install zig from PyPI; see $toolchain/fetch.log"
  touch "$tools/ready-$zig_version"
}

# fetch_wheel NAME VERSION PLATFORM: prints the path of that wheel of PyPI, which it downloads if need be
fetch_wheel() {
  local found
  found=$(find_wheel "$1-$2-")
  if [ -z "$found" ]; then
    stage "fetching the Mac wheel of $1 $2 (100 MB)"
    "$tools/bin/pip" download -q --no-deps --only-binary=:all: --python-version 3.11 --platform "$3" \
      -d "$downloads" "$1==$2" >>"$toolchain/fetch.log" 2>&1 ||
      fail "could not fetch $1 $2 for $3 from PyPI; see $toolchain/fetch.log"
    found=$(find_wheel "$1-$2-")
  fi
  echo "$found"
}

find_wheel() { find "$downloads" -iname "$1*.whl" -print -quit; }

# Wrappers with the names that CMake expects of a compiler: zig takes cc and c++ as an argument.
write_wrappers() {
  local name
  zig=$(echo "$tools"/lib/python3.*/site-packages/ziglang/zig)
  mkdir -p "$toolchain/bin"
  local link_by_other=
  [ -z "$linker" ] || link_by_other="case \" \$* \" in
  *' -c '*) ;;
  *'.o '* | *'.a '*) exec $linker \"\$@\" ;;
esac"
  # CMake asks the linker for its folders with -Wl,-v, which zig refuses; a -bundle is a program to it.
  for name in cc c++; do
    write_if_changed "$toolchain/bin/$name" "#!/bin/bash
set -- \"\${@/#-Wl,-v/-v}\"
$link_by_other
exec '$zig' $name -target aarch64-macos.$macos_target \"\${@/#-bundle/-dynamiclib}\""
  done
  for name in ar ranlib; do
    write_if_changed "$toolchain/bin/$name" "#!/bin/bash
exec '$zig' $name \"\$@\""
  done
  write_if_changed "$toolchain/bin/install_name_tool" '#!/bin/bash
exit 0'
  # CMake asks the machine for its macOS version.
  mkdir -p "$toolchain/host"
  write_if_changed "$toolchain/host/sw_vers" "#!/bin/bash
echo $macos_target"
  chmod +x "$toolchain"/bin/* "$toolchain/host/sw_vers"
  export PATH="$toolchain/host:$PATH" HIGHWATER_MAC_MULTIARCH=$multiarch
  export HIGHWATER_MAC_WORK=$work HIGHWATER_MAC_TOOLCHAIN=$toolchain
  export ZIG_GLOBAL_CACHE_DIR=$toolchain/zig-cache ZIG_LOCAL_CACHE_DIR=$toolchain/zig-cache
}

# A wrapper with a new time stamp would make CMake examine the compiler again.
write_if_changed() { [ "$(cat "$1" 2>/dev/null)" = "$2" ] || printf '%s\n' "$2" >"$1"; }

# prepare TORCH_WHEEL QT_WHEEL [QT_ROOT]: makes everything that depends on the wheels and on this machine's headers,
# when any of them has changed. QT_ROOT: the folder in which packages with Qt's headers are unpacked, if not /.
prepare() {
  local torch_wheel=$1 qt_wheel=$2 qt_root=${3:-} stamp=$work/prepared now
  now=$( (cd "$here/cross" && cat {unpack_wheels,mac_imports,stub_libraries}.py qt_overlay include/*
    cat /usr/include/{sqlite3,zstd,zlib,zconf}.h /usr/include/flatbuffers/base.h
    cat /usr/include/{CLI/Version,nlohmann/json,protozero/version}.hpp
    stat -c '%n %s' "$torch_wheel" "$qt_wheel") | sha256sum)
  [ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || return 0
  rm -rf "$stamp" "$work/sdk"
  stage "unpacking the wheels"
  python3 "$here/cross/unpack_wheels.py" "$work" "$torch_wheel" "$qt_wheel"
  stage "laying Qt's headers over the Mac frameworks"
  bash "$here/cross/qt_overlay" "$work" "$multiarch" "$qt_root"
  stage "reading which of Apple's symbols they import"
  "$tools/bin/python" "$here/cross/mac_imports.py" "$work/imports.txt" \
    "$work"/torch/lib/*.dylib "$work"/frameworks/*.framework/Versions/A/Qt*
  "$tools/bin/python" "$here/cross/stub_libraries.py" "$work"
  copy_headers
  echo "$now" >"$stamp"
}

copy_headers() {
  local sdk=$work/sdk
  install -D -m 644 "$here/cross/include/CoreFoundation.h" \
    "$sdk/Frameworks/CoreFoundation.framework/Headers/CoreFoundation.h"
  install -D -m 644 "$here/cross/include/IOKitLib.h" \
    "$sdk/Frameworks/IOKit.framework/Headers/IOKitLib.h"
  mkdir -p "$sdk/include" "$sdk/share/cmake"
  cp -r /usr/include/{sqlite3.h,zstd.h,zlib.h,zconf.h,flatbuffers,CLI,nlohmann,protozero} "$sdk/include/"
  [ ! -e /usr/include/zstd_errors.h ] || cp /usr/include/zstd_errors.h "$sdk/include/"
  cp -r /usr/share/cmake/CLI11 "$sdk/share/cmake/"
}

# from_archive LIST COMMAND...: runs apt-get COMMAND in the folder $work/apt with a package list of its own, so that it
# needs no root and leaves the system's lists alone. LIST: the lines of that list
from_archive() {
  local apt=$work/apt list=$1
  shift
  local options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Sandbox::User=root)
  rm -rf "$apt" && mkdir -p "$apt/lists/partial"
  echo "$list" >"$apt/sources.list"
  (cd "$apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" "$@") >"$work/apt.log" 2>&1
}

# The line of a package list with the source packages of this distribution.
source_list() {
  # shellcheck source=/dev/null
  (. /etc/os-release
    case $ID in
      ubuntu) echo "deb-src http://archive.ubuntu.com/ubuntu $VERSION_CODENAME main universe" ;;
      *) echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-sid} main" ;;
    esac)
}

# Fetches QCustomPlot's source from the distribution's source packages.
fetch_qcustomplot() {
  qcustomplot=${HIGHWATER_QCUSTOMPLOT_SOURCE:-$work/qcustomplot}
  [ ! -e "$qcustomplot/qcustomplot.cpp" ] || return 0
  [ -z "${HIGHWATER_QCUSTOMPLOT_SOURCE:-}" ] || fail "$qcustomplot holds no qcustomplot.cpp"
  stage "fetching QCustomPlot's source package"
  from_archive "$(source_list)" source qcustomplot ||
    fail "no source package of QCustomPlot ($(source_list)); see $work/apt.log" \
      "Or unpack https://www.qcustomplot.com/release/2.1.1/QCustomPlot-source.tar.gz and set" \
      "HIGHWATER_QCUSTOMPLOT_SOURCE to its folder."
  mkdir -p "$qcustomplot.new"
  cp "$work"/apt/qcustomplot-*/qcustomplot.{h,cpp} "$qcustomplot.new/"
  rm -rf "$qcustomplot" "$work/apt" && mv "$qcustomplot.new" "$qcustomplot"
}

# Makes sure that a program with an unknown symbol does not link.
check_that_unknown_symbols_fail() {
  local probe=$toolchain/probe
  mkdir -p "$probe"
  cat >"$probe/unknown.cpp" <<'C'
extern "C" int IOServiceMatchingMisspelt(const char*);
int main() { return IOServiceMatchingMisspelt("x"); }
C
  if "$toolchain/bin/c++" -c "$probe/unknown.cpp" -o "$probe/unknown.o" >"$probe/log" 2>&1 &&
    "$toolchain/bin/c++" "-F$work/sdk/Frameworks" "-L$work/sdk/lib" "$probe/unknown.o" -framework IOKit \
      -o "$probe/unknown" >"$probe/log" 2>&1; then
    fail "a program with an unknown symbol linked: this link proves nothing"
  fi
  grep -q 'IOServiceMatchingMisspelt' "$probe/log" ||
    fail "the probe failed for another reason than its unknown symbol; see $probe/log"
}

# configure_for_mac SOURCE FLAGS [cmake arguments]. FLAGS: how to optimise
configure_for_mac() {
  local source=$1 flags=$2
  shift 2
  local options=(-Wno-author -S "$source" -B "$toolchain/build" -G Ninja -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_TOOLCHAIN_FILE=$here/cross/toolchain.cmake"
    "-DCMAKE_CXX_FLAGS_RELEASE=$flags" "-DCMAKE_OBJCXX_FLAGS_RELEASE=$flags"
    -DHIGHWATER_WORKER=ON -DHIGHWATER_UNITY=ON -DCCACHE= "-DHIGHWATER_QCUSTOMPLOT_SOURCE=$qcustomplot" "$@")
  if [ "$(cached "$toolchain/build" CMAKE_HOME_DIRECTORY)" != "$source" ]; then options+=(--fresh); fi
  mkdir -p "$toolchain/build"
  # In a folder of its own, because zig makes a file named "-" where it is asked to write to stdout.
  (cd "$toolchain" && cmake "${options[@]}") >"$toolchain/configure.log" 2>&1 || {
    tail -30 "$toolchain/configure.log" >&2
    fail "configuring for macOS failed; see $toolchain/configure.log"
  }
  stage "configured; compiling and linking"
}

# compile_for_mac [TARGET...]
compile_for_mac() {
  cmake --build "$toolchain/build" ${1:+--target "$@"} --parallel "${HIGHWATER_JOBS:-$(build_jobs)}" -- -k 0 \
    >"$toolchain/build.log" 2>&1 || {
    grep -E 'error|FAILED|referenced' "$toolchain/build.log" | head -40 >&2 || true
    fail "compiling or linking for macOS failed; see $toolchain/build.log"
  }
}
