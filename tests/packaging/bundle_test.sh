#!/usr/bin/env bash
# Highwater.app: its tree is complete and its programs find their data in it; packaging/macos/bundle calls the
# tools in the right order. usage: bundle_test.sh SOURCE_DIR BUILD_FOLDER CMAKE
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
build=$2 cmake=$3
unset HIGHWATER_WORKER HIGHWATER_DATASETS LD_LIBRARY_PATH
status=- out='' said=''

"$cmake" --install "$build" --component bundle --prefix "$scratch/first" >log || broken "$(cat log)"
mv first "some place"
contents="$scratch/some place/Highwater.app/Contents"
python3 - "$contents" <<'P' || broken "Info.plist or the icon is wrong"
import os, plistlib, struct, sys
contents = sys.argv[1]
with open(f"{contents}/Info.plist", "rb") as file:
    plist = plistlib.load(file)
assert os.access(f"{contents}/MacOS/{plist['CFBundleExecutable']}", os.X_OK)
assert plist["CFBundlePackageType"] == "APPL" and plist["CFBundleVersion"][0].isdigit()
document, = plist["CFBundleDocumentTypes"]
exported, = plist["UTExportedTypeDeclarations"]
assert document["LSItemContentTypes"] == [exported["UTTypeIdentifier"]]
assert exported["UTTypeTagSpecification"]["public.filename-extension"] == ["highwater"]
assert document["CFBundleTypeIconFile"] == plist["CFBundleIconFile"]

icon = open(f"{contents}/Resources/{plist['CFBundleIconFile']}.icns", "rb").read()
assert struct.unpack(">4sI", icon[:8]) == (b"icns", len(icon))
sizes, at = {}, 8
while at < len(icon):
    kind, size = struct.unpack(">4sI", icon[at:at + 8])
    png = icon[at + 8:at + size]
    assert png.startswith(b"\x89PNG\r\n\x1a\n"), kind
    width, height = struct.unpack(">II", png[16:24])
    assert width == height
    sizes[kind.decode()] = width
    at += size
assert at == len(icon)
assert sizes == dict(icp4=16, icp5=32, ic11=32, ic12=64, ic07=128, ic13=256, ic08=256, ic14=512, ic09=512, ic10=1024), sizes
P

for file in MacOS/highwater-worker Resources/datasets/issue-texts.train.csv \
  Resources/python/highwater_mps/attach/sitecustomize.py Resources/script/built_for.txt; do
  [ -e "$contents/$file" ] || broken "$file is not in the bundle"
done
attempt "$contents/MacOS/highwater" record --device cpu --steps 2 --batch 4 --seq 16 -o run.highwater
expect_status 0
# The sample data is the bundle's, although the sources are there too.
: >"$contents/Resources/datasets/issue-texts.train.csv"
attempt "$contents/MacOS/highwater" record --device cpu --steps 2 -o other.highwater
[ "$status" != 0 ] || broken "the worker read other data than the bundle's"
expect_said issue-texts.train.csv

# The script, with stand-ins for what it calls.
attempt packaging/macos/bundle
if [ "$(uname -s)" = Darwin ]; then exit 0; fi
expect_status 1
expect_said "a bundle is for macOS"
cat >packaging/setup <<'S'
#!/usr/bin/env bash
mkdir -p build && echo /torch >build/libtorch
S
stand_in uname <<<'echo Darwin'
stand_in sysctl <<<'echo 17179869184'
stand_in ninja <<<'exit 0'
stand_in cmake <<S
case \$1 in
  --preset) echo 'CMAKE_PROJECT_VERSION:STATIC=1.2.3' >build/release/CMakeCache.txt ;;
  --install) mkdir -p build/bundle/Highwater.app ;;
esac
echo "cmake \$1" >>"$scratch/calls"
S
for tool in macdeployqt codesign cpack; do
  stand_in "$tool" <<<"echo \"$tool \$*\" >>'$scratch/calls'; [ ! -e '$scratch/break-$tool' ]"
done
attempt packaging/macos/bundle
expect_status 0
expect_said "made $scratch/build/bundle/Highwater-1.2.3.dmg"
[ "$(cut -d' ' -f1-2 calls)" = "cmake --preset
cmake --build
cmake --install
macdeployqt $scratch/build/bundle/Highwater.app
codesign --force
cpack -G" ] || broken "wrong calls: $(cat calls)"
touch break-codesign
attempt packaging/macos/bundle
expect_status 1
expect_said "codesign failed"
