"""Writes WORK/sdk/lib/libc++.tbd, so that programs use macOS's own C++ library.
usage: libcxx_stub.py WORK ABILIST   (ABILIST: LLVM's list of the symbols of its libc++ for Apple's arm64)

LLVM's list names what libc++ defines, and of libc++abi, which Apple's library exports too, what libc++ uses. The rest
of libc++abi is in WORK/imports.txt: what PyTorch and Qt import from Apple's library."""
import ast
import pathlib
import re
import sys

from stub_libraries import tbd

CXX_RUNTIME = re.compile(r"__Z|___cxa_|___gxx_|___dynamic_cast")


def symbols(work, abilist):
    found = {entry["name"] for entry in map(ast.literal_eval, abilist.read_text().splitlines())}
    for line in (work / "imports.txt").read_text().splitlines():
        library, symbol = line.split()
        if library == "libc++":
            found.add(symbol)
    # The list's other undefined symbols are the C library's, as ___cxa_atexit is.
    system = set(re.findall(r"[\w$]+", (work / "sdk/lib/libSystem.tbd").read_text()))
    return {symbol for symbol in found if CXX_RUNTIME.match(symbol)} - system


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    tbd(folder / "sdk/lib/libc++.tbd", "/usr/lib/libc++.1.dylib", symbols(folder, pathlib.Path(sys.argv[2])))
