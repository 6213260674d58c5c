# shellcheck shell=bash
# Sourced by packaging/linux/wheel and packaging/macos/wheel, after packaging/common.sh: what is the same in both wheels.

# It runs what was compiled with any older Qt 6. Up to 6.9.1 Qt needs AGL, which left Apple's SDK with macOS 26
# (QTBUG-137687).
# shellcheck disable=SC2034  # for whoever sources this
wheel_qt_version=6.9.3

# lay_out_wheel BUILD ROOT VERSION: puts the programs of the folder BUILD into the folder ROOT, as a wheel installs them.
# The worker is for that version of PyTorch, and the place of its probe is for those of several.
lay_out_wheel() {
  local package=$2/highwater_mps program=$2/highwater_mps/program
  rm -rf "$2"
  mkdir -p "$program"
  cmake --install "$1" --prefix "$program" || return
  # A desktop looks for these elsewhere.
  rm -rf "$program"/share/{applications,icons,metainfo,mime}
  cp -r "$program/share/highwater/python/highwater_mps/." "$package/" &&
    mv "$program/bin/highwater-worker" "$program/bin/highwater-worker-$3" || return
  rm -f "$program"/lib/script/{libhighwater_script.so,built_for.txt}
  printf '[Paths]\nPrefix = ../Qt\nPlugins = plugins\n' >"$program/bin/qt.conf"
}

# copy_notices ROOT QT ZSTD: names what is of other projects, with the texts of their licences. QT: the folder with what
# Qt's packages say of theirs; ZSTD: zstd's
copy_notices() {
  local folder=$1/highwater_mps/program/share/doc/highwater name
  mkdir -p "$folder/licences"
  cp "$checkout/packaging/wheel/NOTICES.md" "$folder/"
  # What packages say of their licences names these texts; some are links there, which a wheel cannot hold.
  cp -L /usr/share/common-licenses/* "$folder/licences/"
  cp "$2/qt6-base-dev/copyright" "$folder/licences/Qt.txt"
  cp "$2/qt6-svg-dev/copyright" "$folder/licences/Qt-svg.txt"
  cp "$3" "$folder/licences/zstd.txt"
  for name in libcli11-dev libflatbuffers-dev libprotozero-dev nlohmann-json3-dev; do
    cp "/usr/share/doc/$name/copyright" "$folder/licences/$name.txt"
  done
}
