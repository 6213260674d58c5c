"""Writes which symbols the real Mac binaries import from which system library, one "library symbol" a
line: the only list of Apple's symbols to be had without Apple's SDK.
usage: mac_imports.py OUT BINARY...   (needs lief)"""
import re
import sys

import lief

LOADS = (lief.MachO.LoadCommand.TYPE.LOAD_DYLIB, lief.MachO.LoadCommand.TYPE.LOAD_WEAK_DYLIB,
         lief.MachO.LoadCommand.TYPE.REEXPORT_DYLIB)


def library_of(symbol, loaded):
    if symbol.has_binding_info and symbol.binding_info.has_library:
        return symbol.binding_info.library.name
    ordinal = symbol.library_ordinal  # 1 is the first library; 0 and below are special
    return loaded[ordinal - 1] if 1 <= ordinal <= len(loaded) else None


def imports(path):
    fat = lief.MachO.parse(path)  # owns its slices: must outlive them
    arm64 = lief.MachO.Header.CPU_TYPE.ARM64
    binary = next((b for b in fat or () if b.header.cpu_type == arm64), None)
    if binary is None:
        return
    loaded = [c.name for c in binary.commands if c.command in LOADS]
    for symbol in binary.imported_symbols:
        library = library_of(symbol, loaded)
        if library:
            base = library.rsplit("/", 1)[-1]
            yield re.sub(r"(\.[0-9A-Z]+)*\.dylib$", "", base), symbol.name


if __name__ == "__main__":
    lief.logging.disable()
    found = {pair for path in sys.argv[2:] for pair in imports(path)}
    with open(sys.argv[1], "w") as out:
        out.writelines(f"{library} {symbol}\n" for library, symbol in sorted(found))
