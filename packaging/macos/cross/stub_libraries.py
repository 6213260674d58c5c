"""Writes stub libraries (.tbd) for Apple's frameworks and for the small C libraries.
usage: stub_libraries.py WORK   (WORK/imports.txt by mac_imports.py)

A framework's stub holds the symbols that the real Mac binaries of PyTorch and Qt import from it. A
symbol that is real but that none of them imports is added to EXTRA, after a look at Apple's headers.
zstd, zlib and SQLite: the functions that the headers of this machine declare."""
import collections
import pathlib
import re
import subprocess
import sys

FRAMEWORKS = {"CoreFoundation": "A", "IOKit": "A", "Foundation": "C"}
EXTRA = {"libobjc": ["_objc_getClass", "_sel_registerName"]}
# Apple builds its SQLite without loadable extensions.
NOT_ON_MACOS = {"_sqlite3_load_extension", "_sqlite3_enable_load_extension"}


def tbd(path, install_name, symbols):
    classes = sorted(s[len("_OBJC_CLASS_$_"):] for s in symbols if s.startswith("_OBJC_CLASS_$_"))
    plain = sorted(s for s in symbols if not s.startswith("_OBJC_"))
    lines = ["--- !tapi-tbd", "tbd-version:     4", "targets:         [ arm64-macos ]",
             f"install-name:    '{install_name}'", "exports:", "  - targets:         [ arm64-macos ]",
             "    symbols:         [ " + ", ".join(f"'{s}'" for s in plain) + " ]"]
    if classes:
        lines.append("    objc-classes:    [ " + ", ".join(classes) + " ]")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines + ["...", ""]))


def declared_functions(header, prefix):
    """What the compiler sees: macros and functions for static linking only are not in it."""
    text = subprocess.run(["cc", "-E", "-P", header], check=True, capture_output=True, text=True).stdout
    names = {"_" + name for name in re.findall(rf"\b({prefix}\w+)\s*\(", text)}
    if not names:
        raise SystemExit(f"no function starting with {prefix} is declared in {header}")
    return names - NOT_ON_MACOS


if __name__ == "__main__":
    work = pathlib.Path(sys.argv[1])
    imported = collections.defaultdict(set)
    for line in (work / "imports.txt").read_text().splitlines():
        library, symbol = line.split()
        imported[library].add(symbol)
    for name, version in FRAMEWORKS.items():
        tbd(work / f"sdk/Frameworks/{name}.framework/{name}.tbd",
            f"/System/Library/Frameworks/{name}.framework/Versions/{version}/{name}",
            imported[name] | set(EXTRA.get(name, [])))
    tbd(work / "sdk/lib/libobjc.tbd", "/usr/lib/libobjc.A.dylib",
        imported["libobjc"] | set(EXTRA["libobjc"]))
    tbd(work / "sdk/lib/libsqlite3.tbd", "/usr/lib/libsqlite3.dylib",
        declared_functions("/usr/include/sqlite3.h", "sqlite3_"))
    tbd(work / "sdk/lib/libzstd.tbd", "/opt/homebrew/opt/zstd/lib/libzstd.1.dylib",
        declared_functions("/usr/include/zstd.h", "ZSTD_"))
    tbd(work / "sdk/lib/libz.tbd", "/usr/lib/libz.1.dylib",
        declared_functions("/usr/include/zlib.h", "(?:de|in)flat"))
