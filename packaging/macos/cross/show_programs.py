"""Prints each program's header and libraries; fails unless each is a Mach-O arm64 executable that keeps
to its side of the wall between Qt and libtorch, and the window's carries its Info.plist.
usage: show_programs.py PROGRAM..."""
import os
import sys

from macho import CPU_TYPE_ARM64, MH_EXECUTE, MachO

FORBIDDEN = {"highwater": ("torch", "c10"), "highwater-worker": ("Qt",)}


def show(path):
    with open(path, "rb") as program:
        data = program.read()
    try:
        program = MachO(data)
    except ValueError as error:
        return f"{path}: {error}"
    if program.cpu != CPU_TYPE_ARM64 or program.kind != MH_EXECUTE:
        return f"{path} is not an arm64 executable (cpu {program.cpu:#x}, file type {program.kind})"
    linked = [os.path.basename(name) for name in program.dylibs]
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
