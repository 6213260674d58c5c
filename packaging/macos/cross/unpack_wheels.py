"""Unpacks what the link needs from the Mac wheels: libtorch to WORK/torch, Qt's frameworks to
WORK/frameworks.  usage: unpack_wheels.py WORK TORCH_WHEEL PYSIDE_WHEEL"""
import pathlib
import shutil
import sys
import zipfile


def unpack(wheel, prefixes, target):
    """prefixes: {folder in the wheel: folder under target}"""
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            for inside, outside in prefixes.items():
                if name.startswith(inside) and not name.endswith("/"):
                    path = fresh / outside / name[len(inside):]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(name) as source, open(path, "wb") as copy:
                        shutil.copyfileobj(source, copy, 1 << 20)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


if __name__ == "__main__":
    work = pathlib.Path(sys.argv[1])
    unpack(sys.argv[2], {f"torch/{d}/": d for d in ("lib", "include", "share")}, work / "torch")
    unpack(sys.argv[3], {"PySide6/Qt/lib/": ""}, work / "frameworks")
