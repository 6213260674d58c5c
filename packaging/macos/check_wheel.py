#!/usr/bin/env python3
"""Checks a wheel for macOS arm64 as far as that is possible without a Mac: what dyld, the code signature and the user's
PyTorch will ask of each file. Prints a table, and names each file with its fault.

    check_wheel.py WHEEL [--stubs FOLDER] [--torch FOLDER] [--forbid TEXT]

Needs nothing but Python. packaging/macos/wheel leaves stubs of macOS 14's libraries and the wheels of PyTorch in
build/mac-link.
"""
import argparse
import base64
import hashlib
import pathlib
import posixpath
import re
import struct
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "cross"))
from macho import CPU_TYPE_ARM64, MH_EXECUTE, MachO, is_macho, stub  # noqa: E402

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
MINIMUM = (14, 0)
PACKAGE = "highwater_mps/"
PROGRAM = PACKAGE + "program/"
# A second C++ run time in a process: its exceptions pass the handlers of the first.
CXX_RUNTIME = {"___cxa_throw", "___cxa_begin_catch", "___gxx_personality_v0", "__ZTISt9exception", "__Znwm", "__ZdlPv"}
QT_CONF = "[Paths]\nPrefix = ../Qt\nPlugins = plugins\n"
# The stubs of these hold all symbols; those of others hold what PyTorch, Qt and Highwater take.
COMPLETE_STUBS = {"/usr/lib/libSystem.B.dylib", "/usr/lib/libc++.1.dylib"}
# In a program these are of the machine that built it; a text may name them as examples.
FOLDERS_OF_BUILDERS = ["/work/", "/root/", "/home/", "/tmp/", "build/"]
PROBE = re.compile(re.escape(PROGRAM) + r"lib/script/prebuilt/([\d.]+)-(\w{10})/libhighwater_script\.so")
WORKER = re.compile(re.escape(PROGRAM) + r"bin/highwater-worker-([\d.]+)")
# The numbers for libraries that say where else a symbol is looked for.
SELF, ANY_LIBRARY = 0, 254


class Wheel:
    """The wheel's files; the Mach-O ones also as such."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
            self.files = {name: archive.read(name) for name in self.modes}
        self.binaries = {name: MachO(data) for name, data in self.files.items() if is_macho(data)}


class Torch:
    """What of PyTorch's wheels the workers and probes are linked with, read when it is asked for."""

    def __init__(self, folder):
        self.folder, self.loaded = folder, {}

    def version_py(self, version):
        return self._load(version)[0]

    def library(self, version, name):
        return self._load(version)[1].get(name)

    def _load(self, version):
        if version not in self.loaded:
            self.loaded = {version: self._read(version)}  # one at a time: each takes 200 MB
        return self.loaded[version]

    def _read(self, version):
        wheels = sorted(self.folder.glob(f"torch-{version}-*arm64.whl"))
        if not wheels:
            sys.exit(f"check_wheel: {self.folder} holds no wheel of torch {version} for arm64; fetch it with "
                     "pip download --no-deps --only-binary=:all: --platform macosx_14_0_arm64")
        with zipfile.ZipFile(wheels[0]) as archive:
            libraries = {name.removeprefix("torch/lib/"): MachO(archive.read(name)) for name in archive.namelist()
                         if re.fullmatch(r"torch/lib/lib(torch|torch_cpu|c10)\.dylib", name)}
            return archive.read("torch/version.py").decode(), libraries


def is_qt(name):
    return name.startswith(PROGRAM + "Qt/")


def torch_version(name):
    match = PROBE.fullmatch(name) or WORKER.fullmatch(name)
    return match and match[1]


def check_archive(wheel, path):
    """Names, modes and hashes."""
    if not path.name.endswith("-py3-none-macosx_14_0_arm64.whl"):
        yield path.name, "its name should end with -py3-none-macosx_14_0_arm64.whl"
    record_name = next((name for name in wheel.files if name.endswith(".dist-info/RECORD")), None)
    if record_name is None:
        yield path.name, "it has no RECORD"
        return
    recorded = dict(line.split(",")[:2] for line in wheel.files[record_name].decode().splitlines())
    for name, data in wheel.files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if name != record_name and recorded.get(name) != f"sha256={digest}":
            yield name, "RECORD does not have its hash"
    for name in recorded.keys() - wheel.files.keys():
        yield name, "it is in RECORD and not in the wheel"
    for name, mode in wheel.modes.items():
        binary = wheel.binaries.get(name)
        executable = binary is not None and binary.kind == MH_EXECUTE
        if mode not in (0o755, 0o644) or executable and mode != 0o755:
            yield name, f"its mode is {mode:o}; a program should have 755, another file 644 or 755"


def check_contents(wheel, forbidden):
    """What has to be there, and what must not be in any file."""
    for name in ("bin/highwater", "bin/qt.conf", "lib/script/torch_part.cpp", "share/doc/highwater/LICENSE",
                 "share/doc/highwater/NOTICES.md", "share/doc/highwater/licences/Apache-2.0",
                 "share/doc/highwater/licences/Qt.txt", "share/doc/highwater/licences/Qt-svg.txt",
                 "share/highwater/datasets/issue-texts.train.csv", "Qt/plugins/platforms/libqcocoa.dylib", "Qt/plugins/platforms/libqoffscreen.dylib",
                 "Qt/plugins/styles/libqmacstyle.dylib"):
        if PROGRAM + name not in wheel.files:
            yield PROGRAM + name, "it is missing"
    if not any(map(WORKER.fullmatch, wheel.binaries)):
        yield PROGRAM + "bin", "there is no worker in it"
    if wheel.files.get(PROGRAM + "bin/qt.conf", QT_CONF.encode()).decode() != QT_CONF:
        yield PROGRAM + "bin/qt.conf", f"it should be {QT_CONF!r}"
    for name, data in wheel.files.items():
        texts = forbidden + FOLDERS_OF_BUILDERS if name in wheel.binaries else forbidden
        found = not is_qt(name) and re.search(b"|".join(re.escape(text.encode()) for text in texts), data)
        if found:
            around = re.search(rb"[ -~]*\Z", data[:found.start()])[0] + re.match(rb"[ -~]*", data[found.start():])[0]
            yield name, f"it names a folder of the machine that built it: {around[-120:].decode()}"


def check_header(name, binary):
    if binary.cpu != CPU_TYPE_ARM64:
        yield name, f"it is not for arm64 (cpu {binary.cpu:#x})"
    if binary.minimum is None or binary.minimum > MINIMUM:
        yield name, f"it asks for macOS {'.'.join(map(str, binary.minimum or ('?',)))}; 14.0 is the oldest that we name"
    for dylib in sorted({dylib for dylib in binary.dylibs if binary.dylibs.count(dylib) > 1}):
        yield name, f"it names {dylib} {binary.dylibs.count(dylib)} times; dyld refuses that"
    for dylib in binary.dylibs:
        if not dylib.startswith(("@rpath/", "/usr/lib/", "/System/Library/")):
            yield name, f"it loads {dylib}, which no Mac has there"
        elif "/AGL.framework/" in dylib:
            yield name, "it needs AGL, which left Apple's SDK with macOS 26"
    for rpath in binary.rpaths:
        if not rpath.startswith("@loader_path/"):
            yield name, f"its rpath {rpath} is not relative to @loader_path"
    fault = binary.signature_fault()
    if fault:
        yield name, fault


def resolve(name, dylib, wheel, torch):
    """The library that `dylib` is to the binary `name`: in the wheel, or in PyTorch beside it; else None."""
    binary, leaf = wheel.binaries[name], dylib.removeprefix("@rpath/")
    rpaths = [(name, rpath) for rpath in binary.rpaths]
    program = PROGRAM + "bin/highwater"
    if is_qt(name) and program in wheel.binaries:  # which loads it, and adds its own
        rpaths += [(program, rpath) for rpath in wheel.binaries[program].rpaths]
    version = torch_version(name)
    if PROBE.fullmatch(name):  # Python has loaded PyTorch, whose libraries are told by their names
        return torch.library(version, leaf)
    for owner, rpath in rpaths:
        path = posixpath.normpath(posixpath.dirname(owner) + "/" + rpath.removeprefix("@loader_path/") + "/" + leaf)
        if path in wheel.binaries:
            return wheel.binaries[path]
        if version and path == f"torch/lib/{leaf}":
            return torch.library(version, leaf)
    return None


def check_symbols(name, wheel, torch, stubs):
    """Each library is found, and has the symbols that are expected of it."""
    binary = wheel.binaries[name]
    libraries = [resolve(name, dylib, wheel, torch) if dylib.startswith("@rpath/") else
                 stubs.get(dylib) if dylib in COMPLETE_STUBS or not is_qt(name) else None for dylib in binary.dylibs]
    for dylib, library in zip(binary.dylibs, libraries):
        if library is None and dylib.startswith("@rpath/"):
            yield name, f"it finds {dylib} by none of its rpaths ({', '.join(binary.rpaths) or 'it has none'})"
        elif library is None and not is_qt(name):
            yield name, f"there is no stub of {dylib} to look for symbols in"
    runtime = set()
    for symbol, number, may_miss in binary.symbols():
        if number is None:
            runtime |= {symbol} & CXX_RUNTIME
        elif number == SELF or number >= ANY_LIBRARY - 1:
            if not is_qt(name) and not may_miss:
                yield name, f"{symbol} is not bound to a library"
        elif number > len(libraries):
            yield name, f"{symbol} is bound to library {number}, and there are {len(libraries)}"
        else:
            library = libraries[number - 1]
            known = library is None or may_miss or \
                (library.exports(symbol) if isinstance(library, MachO) else symbol in library)
            if not known:
                yield name, f"{binary.dylibs[number - 1]} has no {symbol}" + \
                    ("" if isinstance(library, MachO) else ", or not yet in macOS 14")
    if runtime:
        yield name, f"it defines {', '.join(sorted(runtime))}: a second C++ run time beside macOS's"


def check_probe(name, wheel, torch):
    exported = set(wheel.binaries[name].exported())
    others = sorted(symbol for symbol in exported if not symbol.startswith("_hw_"))
    if others or not exported:
        yield name, f"it should export hw_* alone; it exports {', '.join(others[:5]) or 'nothing'}"
    folder = posixpath.dirname(name)
    said = wheel.files.get(f"{folder}/built_for.txt", b"").decode()
    version, git = PROBE.fullmatch(name).groups()
    match = re.fullmatch(r"(\S+) (\w{40})\n", said)
    if not match or match[1] != version or not match[2].startswith(git):
        yield f"{folder}/built_for.txt", f"it says {said!r}, and its folder {posixpath.basename(folder)}"
    elif f"'{match[2]}'" not in torch.version_py(version):
        yield f"{folder}/built_for.txt", f"PyTorch {version} is of another commit"


def faults_of(wheel, path, stubs, torch, forbidden):
    yield from check_archive(wheel, path)
    yield from check_contents(wheel, forbidden)
    for name, binary in sorted(wheel.binaries.items(), key=lambda item: torch_version(item[0]) or ""):
        yield from check_header(name, binary)
        yield from check_symbols(name, wheel, torch, stubs)
        if PROBE.fullmatch(name):
            yield from check_probe(name, wheel, torch)


def print_table(wheel, path, faults):
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(wheel.files)} files, {len(wheel.binaries)} Mach-O\n"
          f"{'MB':>6} {'macOS':>5} {'libraries':>9} {'undefined':>9} {'faults':>6}  file")
    for name, binary in wheel.binaries.items():
        undefined = sum(number is not None for _, number, _ in binary.symbols())
        count = sum(file == name for file, _ in faults)
        print(f"{len(binary.data) / 1e6:6.2f} {'.'.join(map(str, binary.minimum or ())):>5} {len(binary.dylibs):9} "
              f"{undefined:9} {count:6}  {name.removeprefix(PROGRAM)}")
    print("Of what Qt's files take of Apple's other libraries nothing was looked up: there are no stubs with all of it.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    work = CHECKOUT / "build/mac-link"
    parser.add_argument("--stubs", type=pathlib.Path, default=work / "wheel/sdk", help="folder of stub libraries")
    parser.add_argument("--torch", type=pathlib.Path, default=work / "downloads", help="folder of PyTorch's wheels")
    parser.add_argument("--forbid", action="append", default=[str(CHECKOUT), "build/mac-link"],
                        help="a text that no file may hold; may be repeated")
    given = parser.parse_args()
    try:
        wheel = Wheel(given.wheel)
    except (OSError, ValueError, struct.error, zipfile.BadZipFile) as error:
        sys.exit(f"check_wheel: cannot read {given.wheel}: {error}")
    stubs = dict(stub(file.read_text(encoding="utf-8")) for file in given.stubs.rglob("*.tbd"))
    if not stubs:
        sys.exit(f"check_wheel: there are no stub libraries in {given.stubs}; packaging/macos/wheel makes them")
    faults = list(faults_of(wheel, given.wheel, stubs, Torch(given.torch), given.forbid))
    print_table(wheel, given.wheel, faults)
    for file, fault in faults:
        print(f"FAULT {file}: {fault}")
    print(f"{len(faults)} faults" if faults else "no faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
