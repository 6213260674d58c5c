#!/usr/bin/env python3
"""Takes files of Qt out of a wheel of PySide6_Essentials.

    unpack_qt.py WHEEL PROGRAM FILE...

FILE, as lib/libQt6Core.so.6, becomes PROGRAM/Qt/FILE. What Qt is used under is put into PROGRAM/share/doc/qt.
"""
import pathlib
import sys
import zipfile

NOTICE = """\
{name} contains Qt {version} (https://www.qt.io), of The Qt Company and others, unchanged, as PySide6_Essentials \
{version} on
PyPI has it. Qt is used under the GNU Lesser General Public License, version 3 (LGPL-3.0-only), whose text is at
https://www.gnu.org/licenses/lgpl-3.0.txt; the files in Qt/lib and Qt/plugins can be replaced by those of another build
of the same version. Its source: https://download.qt.io/official_releases/qt/{series}/{version}/single/, or, for three years
after this version of {name} was published, from the place where you got it. The files named libicu*, libxcb*, libX* and
others beside Qt's are those of the system that this was built on, under their own licences.
"""


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    wheel, program, files = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        for file in files:
            try:
                content = archive.read(f"PySide6/Qt/{file}")
            except KeyError:
                sys.exit(f"unpack_qt: {wheel.name} has no {file}")
            path = program / "Qt" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)
    notice = program / "share/doc/qt/NOTICE"
    notice.parent.mkdir(parents=True, exist_ok=True)
    notice.write_text(NOTICE.format(name="Highwater", version=version, series=version.rpartition(".")[0]),
                      encoding="utf-8")


if __name__ == "__main__":
    main()
