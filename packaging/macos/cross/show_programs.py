"""Prints each program's header and libraries; fails unless each is a Mach-O arm64 executable that keeps
to its side of the wall between Qt and libtorch, and the window's carries its Info.plist.
usage: show_programs.py PROGRAM..."""
import os
import struct
import sys

MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE = 0xFEEDFACF, 0x0100000C, 2
LOAD_DYLIBS = {0xC, 0x80000018, 0x8000001F}  # LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB
FORBIDDEN = {"highwater": ("torch", "c10"), "highwater-worker": ("Qt",)}


def libraries(data):
    (commands,) = struct.unpack_from("<I", data, 16)
    offset = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, offset)
        if command in LOAD_DYLIBS:
            (name,) = struct.unpack_from("<I", data, offset + 8)
            yield data[offset + name:offset + size].split(b"\0")[0].decode()
        offset += size


def show(path):
    with open(path, "rb") as program:
        data = program.read()
    if len(data) < 32 or struct.unpack_from("<I", data)[0] != MH_MAGIC_64:
        return f"{path} is not a 64-bit Mach-O file"
    _, cpu, _, kind = struct.unpack_from("<IIII", data)
    if cpu != CPU_TYPE_ARM64 or kind != MH_EXECUTE:
        return f"{path} is not an arm64 executable (cpu {cpu:#x}, file type {kind})"
    linked = [os.path.basename(name) for name in libraries(data)]
    name = os.path.basename(path)
    wrong = [lib for lib in linked if lib.removeprefix("lib").startswith(FORBIDDEN.get(name, ("\0",)))]
    if wrong:
        return f"{name} must not link {', '.join(wrong)}"
    if name == "highwater" and b"<key>CFBundleIdentifier</key>" not in data:
        return f"{name} carries no Info.plist"
    print(f"{path}: Mach-O 64-bit executable arm64, {len(data) / 2**20:.1f} MiB")
    print(f"  links {', '.join(linked)}")
    return None


if __name__ == "__main__":
    errors = [error for error in map(show, sys.argv[1:]) if error]
    sys.exit("\n".join(errors) if errors else 0)
