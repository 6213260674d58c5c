#!/usr/bin/env python3
"""Copies the libraries that programs need into a folder, and lets all of them look there first.

    bundle_libraries.py --into FOLDER --licences FOLDER --patchelf PROGRAM FILE...

FILE: a program or library. Left to the system: the C library and what belongs to it, the C++ run time, which the
user's PyTorch shares, and libtorch. What the packages of the copied libraries say of their licences is put into
--licences. Needs ldd and dpkg.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

# PEP 600's list, without what a machine has only with a desktop.
OF_SYSTEM = re.compile(r"(ld-linux-.*|lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|stdc\+\+|gcc_s)|linux-vdso)\.so[.\d]*$")
OF_PYTORCH = re.compile(r"lib(torch.*|c10.*|gomp.*|shm)\.so")


def needed(file, folder):
    """The libraries that `file` loads, by name: where each lies now, None where nowhere."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    lines = subprocess.run(["ldd", str(file)], env=environment, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in lines.splitlines():
        entry = re.match(r"\s*(\S+) => (not found|\S+)", line)
        if entry and not OF_SYSTEM.match(entry[1]) and not OF_PYTORCH.match(entry[1]):
            found[entry[1]] = None if entry[2] == "not found" else pathlib.Path(entry[2])
    return found


def copy_licence(path, folder):
    """Of the package that the library `path` is part of."""
    # Debian 12's packages have their files in /lib, which is a link to /usr/lib.
    for name in (path, path.resolve(), str(path.resolve()).removeprefix("/usr")):
        owner = subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True, check=False).stdout
        package = owner.partition(":")[0]
        if package:
            shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")
            return
    sys.exit(f"bundle_libraries: {path} is of no package, so its licence is not known")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=pathlib.Path, required=True)
    parser.add_argument("--licences", type=pathlib.Path, required=True)
    parser.add_argument("--patchelf", required=True)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    given = parser.parse_args()
    folder = given.into.resolve()
    for file in given.files:
        # ldd follows the dependencies of dependencies, too.
        for name, path in needed(file, folder).items():
            if path is None:
                sys.exit(f"bundle_libraries: {file} needs {name}, which this machine does not have")
            if path.resolve().parent != folder and not (folder / name).exists():
                shutil.copyfile(path, folder / name)
                copy_licence(path, given.licences)
    libraries = [path for path in folder.iterdir() if path.is_file()]
    for file in {path.resolve() for path in (*given.files, *libraries)}:
        own = os.path.relpath(folder, file.parent)
        path = "$ORIGIN" if own == "." else f"$ORIGIN/{own}"
        # The older tag: it comes before LD_LIBRARY_PATH, where others' Qt may lie.
        subprocess.run([given.patchelf, "--force-rpath", "--set-rpath", path, str(file)], check=True)


if __name__ == "__main__":
    main()
