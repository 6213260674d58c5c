"""Links for macOS arm64 by lld, from the arguments that CMake gives to clang as the linker's front end.
usage: link.py LLD MACOS ARGUMENT..."""
import os
import sys

WITH_VALUE = {"-o", "-framework", "-install_name", "-compatibility_version", "-current_version"}
IGNORED_WITH_VALUE = {"-arch", "-target", "-isysroot", "-isystem", "-I", "-x"}


def for_linker(arguments):
    """What a clang would hand on. Options for the compiler, which CMake repeats here, are left out."""
    rest = iter(arguments)
    for argument in rest:
        if argument in WITH_VALUE:
            yield from (argument, next(rest))
        elif argument in IGNORED_WITH_VALUE:
            next(rest)
        elif argument == "-Xlinker":
            yield next(rest)
        elif argument.startswith("-Wl,"):
            yield from argument.split(",")[1:]
        elif argument in ("-dynamiclib", "-bundle"):
            yield "-dylib"
        elif not argument.startswith("-") or argument[:2] in ("-L", "-l", "-F"):
            yield argument


if __name__ == "__main__":
    lld, macos, *given = sys.argv[1:]
    # The SDK is given as old as the system: zig's headers are, and dyld is stricter with newer ones.
    os.execv(lld, [lld, "-arch", "arm64", "-platform_version", "macos", macos, macos, "-syslibroot", "/", "-S",
                   "--error-limit=0", "-dead_strip", "-dead_strip_dylibs", *for_linker(given), "-lc++", "-lSystem"])
