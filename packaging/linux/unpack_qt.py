#!/usr/bin/env python3
"""Takes files of Qt out of a wheel of PySide6_Essentials.

    unpack_qt.py WHEEL FOLDER FILE...

FILE, as lib/libQt6Core.so.6, becomes FOLDER/FILE.
"""
import pathlib
import sys
import zipfile


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    wheel, folder, files = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    with zipfile.ZipFile(wheel) as archive:
        for file in files:
            try:
                content = archive.read(f"PySide6/Qt/{file}")
            except KeyError:
                sys.exit(f"unpack_qt: {wheel.name} has no {file}")
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)


if __name__ == "__main__":
    main()
