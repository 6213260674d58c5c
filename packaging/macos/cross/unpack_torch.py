"""Unpacks what a probe is compiled and linked with: headers, two libraries, and built_for.txt, after version.py.
usage: unpack_torch.py WHEEL TARGET"""
import pathlib
import re
import sys
import zipfile

from unpack_wheels import unpack


def built_for(version_py):
    """ "VERSION GIT_VERSION", the version without what it was built for, as +cpu."""
    version, = re.findall(r"^__version__ = '([^'+]*)", version_py, re.M)
    git, = re.findall(r"^git_version = '(\w+)'", version_py, re.M)
    return f"{version} {git}\n"


if __name__ == "__main__":
    wheel, target = map(pathlib.Path, sys.argv[1:])
    unpack(wheel, {"torch/include/": "include", "torch/lib/libtorch_cpu.dylib": "lib/libtorch_cpu.dylib",
                   "torch/lib/libc10.dylib": "lib/libc10.dylib"}, target)
    with zipfile.ZipFile(wheel) as archive:
        (target / "built_for.txt").write_text(built_for(archive.read("torch/version.py").decode()))
