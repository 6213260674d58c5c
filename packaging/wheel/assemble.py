#!/usr/bin/env python3
"""Makes a wheel out of the folder that it installs.

    assemble.py ROOT --tag py3-none-macosx_14_0_arm64 [-o FOLDER]

Prints the path of the wheel; what else there is to say goes to stderr.
ROOT holds highwater_mps/, the Python package, with highwater_mps/program, the tree of the programs. Name, version and
licence are those of src/python/pyproject.toml. Files keep the right to be executed; the same folder gives the same
wheel, to the byte.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import sys
import zipfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
# The oldest time that a zip file can hold.
TIME = (1980, 1, 1, 0, 0, 0)
PROGRAM = "highwater_mps/program"
# Their names beside a wheel's metadata, and where the programs have them.
LICENCES = {"LICENSE-GPL": "share/doc/highwater/LICENSE", "LICENSE-MIT": "share/highwater/python/LICENSE"}


def project():
    """The fields of [project] that have a text as their value. Python 3.10 has no tomllib."""
    text = (SOURCES / "src/python/pyproject.toml").read_text(encoding="utf-8")
    return dict(re.findall(r'^([a-z-]+) = "([^"]*)"$', text.split("[project]")[1], re.MULTILINE))


def metadata(fields):
    readme = (SOURCES / "README.md").read_text(encoding="utf-8")
    # Pictures and pages lie in the repository, which a wheel does not hold.
    readme = re.sub(r"!\[[^]]*\]\([^)]*\)\n*", "", readme)
    licences = "".join(f"License-File: {name}\n" for name in LICENCES)
    return (f"Metadata-Version: 2.4\nName: {fields['name']}\nVersion: {fields['version']}\n"
            f"Summary: {fields['description']}\nRequires-Python: {fields['requires-python']}\n"
            "License: GPL-3.0-or-later (the programs), MIT (the Python package, the probe and the simulated device)\n"
            f"{licences}Description-Content-Type: text/markdown\n\n{readme}")


def added_files(root, fields, tag):
    """What a wheel says of itself, by the path in it."""
    info = f"{fields['name'].replace('-', '_')}-{fields['version']}.dist-info"
    yield f"{info}/METADATA", metadata(fields).encode()
    yield f"{info}/WHEEL", ("Wheel-Version: 1.0\nGenerator: highwater\nRoot-Is-Purelib: false\n"
                            f"Tag: {tag}\n").encode()
    yield f"{info}/entry_points.txt", b"[console_scripts]\nhighwater = highwater_mps._command:main\n"
    for name, place in LICENCES.items():
        yield f"{info}/licenses/{name}", (root / PROGRAM / place).read_bytes()


def write(root, tag, folder):
    """Returns the path of the wheel."""
    fields = project()
    name = f"{fields['name'].replace('-', '_')}-{fields['version']}"
    path = folder / f"{name}-{tag}.whl"
    entries = [(str(file.relative_to(root)), file.read_bytes(), file.stat().st_mode & 0o100)
               for file in sorted(root.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
    entries += [(place, content, 0) for place, content in added_files(root, fields, tag)]
    record = f"{name}.dist-info/RECORD"
    lines = [f"{place},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
             f"{len(content)}" for place, content, _ in entries]
    entries.append((record, ("\n".join(lines) + f"\n{record},,\n").encode(), 0))
    unfinished = path.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for place, content, executable in entries:
            entry = zipfile.ZipInfo(place, TIME)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    os.replace(unfinished, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--tag", required=True, help="interpreter, ABI and platform: py3-none-macosx_14_0_arm64")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("."), help="folder of the wheel")
    given = parser.parse_args()
    if not re.fullmatch(r"\w+-\w+-\w+", given.tag):
        sys.exit(f"assemble: {given.tag} is no tag like py3-none-macosx_14_0_arm64")
    for file in ("highwater_mps/_command.py", f"{PROGRAM}/bin/highwater"):
        if not (given.root / file).is_file():
            sys.exit(f"assemble: {given.root} holds no {file}; it is not a folder that a wheel installs")
    links = [str(each) for each in given.root.rglob("*") if each.is_symlink()]
    if links:
        sys.exit(f"assemble: a wheel holds no links, as {links[0]} is")
    given.output.mkdir(parents=True, exist_ok=True)
    path = write(given.root, given.tag, given.output)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    print(path)


if __name__ == "__main__":
    main()
