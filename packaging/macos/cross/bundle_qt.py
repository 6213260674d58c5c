"""Copies the part of Qt that a program needs out of PySide6's wheel: the arm64 slices of the plugins, and of the
frameworks that the program and the plugins load.   usage: bundle_qt.py WHEEL PROGRAM TARGET"""
import pathlib
import re
import struct
import sys
import zipfile

from macho import CPU_TYPE_ARM64, MachO

FAT_MAGIC = 0xCAFEBABE
INSIDE = "PySide6/Qt/"
PLUGINS = ("platforms/libqcocoa", "platforms/libqoffscreen", "styles/libqmacstyle", "imageformats/libqsvg",
           "iconengines/libqsvgicon")


def arm64_slice(data):
    """That slice of a universal binary as it is, with its signature."""
    magic, count = struct.unpack_from(">II", data)
    if magic != FAT_MAGIC:
        return data
    for index in range(count):
        cpu, _, offset, size, _ = struct.unpack_from(">IIIII", data, 8 + 20 * index)
        if cpu == CPU_TYPE_ARM64:
            return data[offset:offset + size]
    raise SystemExit("a library of the wheel has no arm64 slice")


def frameworks(data):
    """The names of the Qt frameworks that a binary loads."""
    matches = (re.match(r"@rpath/(Qt\w+)\.framework/", name) for name in MachO(data).dylibs)
    return [match[1] for match in matches if match]


def bundle(wheel, program, target):
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for plugin in PLUGINS:
            found[f"plugins/{plugin}.dylib"] = arm64_slice(archive.read(f"{INSIDE}plugins/{plugin}.dylib"))
        wanted = [name for data in (program.read_bytes(), *found.values()) for name in frameworks(data)]
        while wanted:
            name = wanted.pop()
            framework = f"lib/{name}.framework/"
            path = f"{framework}Versions/A/{name}"
            if path not in found:
                found[path] = arm64_slice(archive.read(INSIDE + path))
                wanted += frameworks(found[path])
                # QtCore finds itself by the name of its bundle, which is there.
                for plist in ("Resources/Info.plist", "Versions/A/Resources/Info.plist"):
                    found[framework + plist] = archive.read(INSIDE + framework + plist)
    for path, data in found.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


if __name__ == "__main__":
    bundle(*map(pathlib.Path, sys.argv[1:]))
