"""Builds and caches the native part for the PyTorch of this interpreter.

A library that was built for one PyTorch loads into another and seems to work, so its file is named after all
that it depends on, and nothing else is ever loaded. It runs inside the user's program, so it is loaded only where
nobody else can have written it, and where it is as it was when it was built.
"""
from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import importlib.util
import mmap
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from typing import NamedTuple

from . import _live
from ._attach import tell

NATIVE = "HIGHWATER_NATIVE"
PREBUILT, BUILT_FOR = "libhighwater_script.so", "built_for.txt"
OLDEST = (2, 6)
_LOCK_SECONDS = 1
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


class Torch(NamedTuple):
    """An installed PyTorch."""
    folder: str
    version: str
    git_version: str
    new_abi: bool


def find_library() -> tuple[str, str]:
    """The path of the library for this interpreter's PyTorch, built if need be; or "" and why there is none."""
    native = _live.environment.get(NATIVE, "")
    if not native:
        return "", f"{NATIVE} does not name the folder of Highwater's native sources. Start by `highwater run`"
    if not os.path.isdir(native):
        return "", f"{NATIVE} names no folder: {native}. Unset it"
    torch, problem = find_torch()
    if torch is None:
        return "", problem
    library = prebuilt(torch, native)
    if library:
        return library, ""
    if not os.path.isfile(os.path.join(native, "torch_part.cpp")):
        return "", (f"{NATIVE}={native} is built for another PyTorch than {torch.version}, and has no "
                    "torch_part.cpp to build from. Install Highwater again")
    folder = cache_folder()
    path = os.path.join(folder, cache_name(torch, native))
    try:
        problem = _make_private(folder)
        if problem:
            return "", f"{problem}, or name another by XDG_CACHE_HOME"
        if is_sound(path):
            return path, ""
        with _locked(path + ".lock") as problem:
            if problem:
                return "", problem
            if is_sound(path):
                return path, ""
            _remove_leftovers(path)
            return path, build(torch, native, path)
    except OSError as error:
        return "", (f"cannot write the cache folder {folder}: {error.strerror}. Make it writable, or name "
                    "another by XDG_CACHE_HOME")


def is_sound(path: str) -> bool:
    """Whether the library at `path` is this user's alone, and as it was when it was built."""
    try:
        with _open_own(path) as file, _open_own(f"{path}.sha256") as note:
            return note.read(200) == _digest(file)
    except OSError:
        return False


def _open_own(path):
    """Opens a regular file of this user's that nobody else can write."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS), "rb")
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        file.close()
        raise PermissionError
    return file


def _digest(file) -> bytes:
    """The size of an open file and its SHA-256, as they are noted beside it."""
    digest, size = hashlib.sha256(), 0
    while part := file.read(1 << 20):
        digest.update(part)
        size += len(part)
    return f"{size} {digest.hexdigest()}\n".encode()


def _make_private(folder: str) -> str:
    """Makes the folder, if need be, and closes it to others where it is this user's. Returns why it cannot be used."""
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    around = os.stat(parent)
    if around.st_uid not in (0, os.geteuid()) or around.st_mode & 0o002 and not around.st_mode & stat.S_ISVTX:
        return f"others can put another cache folder in place of {folder}. Close {parent} to them"
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if os.path.islink(folder):
        return f"the cache folder {folder} is a link. Remove it"
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    try:
        found = os.fstat(number)
        if found.st_uid != os.geteuid():
            return f"the cache folder {folder} belongs to another user (uid {found.st_uid}). Remove it"
        if found.st_mode & 0o022:
            os.fchmod(number, 0o700)
        return ""
    finally:
        os.close(number)


def _remove_leftovers(path: str) -> None:
    """Removes what killed builds of the library at `path`, whose lock is held, have left."""
    folder, library = os.path.split(path)
    for name in os.listdir(folder):
        left = re.fullmatch(re.escape(library) + r"\.(\d+)(\.o|\.sha256)?", name)
        if left and not _is_alive(int(left[1])):
            with contextlib.suppress(OSError):
                os.remove(os.path.join(folder, name))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def readiness(native: str) -> tuple[str, str, bool]:
    """What find_library() would do, without building: PyTorch's version, what is wrong, whether a library is there."""
    torch, problem = find_torch()
    if torch is None:
        return "", problem, False
    path = os.path.join(cache_folder(), cache_name(torch, native))
    ready = bool(prebuilt(torch, native)) or is_sound(path)
    if not ready and not compiler():
        problem = "there is no C++ compiler, which builds the probe for this PyTorch once"
    return torch.version, problem, ready


def prebuilt(torch: Torch, native: str) -> str:
    """The library in the folder `native` that was built for this very PyTorch; "" without one.

    A build has one, in the folder itself; a wheel has one for each of several releases. The commit is compared too,
    since a version does not tell a user's own build. Builds from a tarball do not know theirs ("Unknown").
    """
    release, commit = torch.version.split("+")[0], torch.git_version
    if not re.fullmatch("[0-9a-f]{10,}", commit):
        return ""
    for folder in (native, os.path.join(native, "prebuilt", f"{release}-{commit[:10]}")):
        path = os.path.join(folder, PREBUILT)
        with contextlib.suppress(OSError), open(os.path.join(folder, BUILT_FOR), encoding="utf-8") as file:
            if file.read().split() == [release, commit] and os.path.exists(path):
                return path
    return ""


def _prebuilt_releases(native) -> str:
    """The releases that a wheel has libraries for: "2.9.1 and 2.13.0"."""
    try:
        names = {name.partition("-")[0] for name in os.listdir(os.path.join(native, "prebuilt"))}
    except OSError:
        return ""
    releases = sorted(names, key=lambda name: [int(part) if part.isdigit() else 0 for part in name.split(".")])
    return " and ".join(filter(None, (", ".join(releases[:-1]), *releases[-1:])))


def _is_intel_mac():
    """Whether this Python is for Intel's processors, on a Mac of either kind."""
    return sys.platform == "darwin" and platform.machine() == "x86_64"


def find_torch() -> tuple[Torch | None, str]:
    """The PyTorch that `import torch` finds, without importing it; or None and why it cannot be used."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None, f"{sys.executable} has no PyTorch"
    folder = list(spec.submodule_search_locations)[0]
    version, git_version = _versions(os.path.join(folder, "version.py"))
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if not numbers or not git_version:
        return None, f"{folder}/version.py does not tell PyTorch's version"
    if tuple(map(int, numbers.groups())) < OLDEST:
        why = "; there is no newer one for an Intel Python, take one for Apple silicon" if _is_intel_mac() else ""
        return None, f"PyTorch {version} is too old; Highwater needs {OLDEST[0]}.{OLDEST[1]} or later{why}"
    new_abi = sys.platform == "darwin" or _has_new_abi(os.path.join(folder, "lib", "libc10.so"))
    if not new_abi:
        return None, (f"PyTorch {version} was built with the old C++ ABI, which Highwater does not support. "
                      "Install PyTorch 2.7 or later")
    return Torch(folder, version, git_version, new_abi), ""


def cache_folder() -> str:
    """The folder in which the user's libraries are kept."""
    given = _live.environment.get
    home = given("HOME") or os.path.expanduser("~")
    usual = os.path.join(home, "Library", "Caches") if sys.platform == "darwin" else os.path.join(home, ".cache")
    return os.path.join(given("XDG_CACHE_HOME") or usual, "highwater")


def cache_name(torch: Torch, native: str) -> str:
    """The file name of the library. It depends on PyTorch, the architecture, and what is in Highwater's sources."""
    key = hashlib.sha256()
    for part in (torch.folder, torch.version, torch.git_version, str(torch.new_abi), platform.machine()):
        key.update(part.encode(errors="surrogateescape") + b"\0")
    for path in sorted(_sources_in(native)):
        key.update(os.path.relpath(path, native).encode(errors="surrogateescape") + b"\0")
        # Not by its time: installers give all files the time of the installation, or one and the same.
        with open(path, "rb") as file:
            key.update(_digest(file))
    return f"probe-torch{torch.version.split('+')[0]}-{key.hexdigest()[:16]}.so"


def build(torch: Torch, native: str, path: str) -> str:
    """Builds the library at `path`, within some twenty seconds. Returns why that failed, else ""."""
    command = compiler()
    if not command:
        wanted = "the command line tools of Xcode (xcode-select --install)" if sys.platform == "darwin" else "g++"
        there = _prebuilt_releases(native)
        return (f"this Highwater brings no part for PyTorch {torch.version}"
                f"{f', only for {there},' if there else ''} and there is no C++ compiler to build it. Install {wanted}, "
                "or name one by CXX")
    log, made = f"{path}.log", f"{path}.{os.getpid()}"
    tell(f"building its part for PyTorch {torch.version}, once, about 20 s ...")
    begin = time.monotonic()
    try:
        with _open_new(log) as out:
            for part in build_commands(command, torch, native, made):
                out.write(shlex.join(part) + "\n")
                out.flush()
                try:
                    done = subprocess.run(part, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          env=_compiler_environment(), check=False)
                except OSError as error:
                    return f"{part[0]} cannot be started: {error.strerror}"
                if done.returncode:
                    return f"the compiler failed; its words are in {log}"
        if not os.path.isfile(made):
            return f"the compiler {command[0]} made no library; its words are in {log}"
        _keep(made, path)
    finally:
        for leftover in (made, f"{made}.o", f"{made}.sha256"):
            with contextlib.suppress(OSError):
                os.remove(leftover)
    tell(f"built in {time.monotonic() - begin:.1f} s")
    return ""


def _keep(made: str, path: str) -> None:
    """Gives the library `made` its name, once it and the note of what it holds are on the disk."""
    os.chmod(made, 0o600)
    with _open_own(made) as file, _open_new(f"{made}.sha256") as note:
        note.write(_digest(file).decode())
        note.flush()
        os.fsync(file)
        os.fsync(note)
    os.replace(made, path)
    os.replace(f"{made}.sha256", f"{path}.sha256")
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fsync(folder)
    os.close(folder)


def _open_new(path: str, emptied: int = os.O_TRUNC):
    """Opens a file of this user's alone to write a text into it; never what a link leads to."""
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | emptied | _FLAGS, 0o600), "r+", encoding="utf-8")
    os.fchmod(file.fileno(), 0o600)
    return file


def build_commands(compiler: list[str], torch: Torch, native: str, made: str) -> list[list[str]]:
    """The commands that compile and link the library `made`.

    `native` holds torch_part.cpp, which includes all sources in include/, and the names to export on Linux,
    exports.map.
    """
    headers = os.path.join(torch.folder, "include")
    api = os.path.join(headers, "torch", "csrc", "api", "include")
    torch_libraries = os.path.join(torch.folder, "lib")
    compile_part = [*compiler, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden",
                    f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.new_abi)}", "-I", os.path.join(native, "include"),
                    "-isystem", headers, "-isystem", api, "-c", os.path.join(native, "torch_part.cpp"),
                    "-o", f"{made}.o"]
    if sys.platform == "darwin":
        link = [*compiler, "-dynamiclib", "-o", made, f"{made}.o", f"-L{torch_libraries}",
                "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch_libraries}", "-Wl,-exported_symbol,_hw_*",
                "-framework", "CoreFoundation", "-framework", "IOKit", "-framework", "Foundation", "-lobjc"]
    else:
        link = [*compiler, "-shared", "-o", made, f"{made}.o",
                f"-Wl,--version-script={os.path.join(native, 'exports.map')}", "-Wl,-Bsymbolic",
                "-Wl,-z,nodelete", f"-L{torch_libraries}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-s"]
    return [compile_part, link]


def compiler() -> list[str]:
    """The command of CXX, or of the first usual compiler that is installed; empty where there is none."""
    given = shlex.split(os.environ.get("CXX", ""))
    names = ("clang++",) if sys.platform == "darwin" else ("g++", "c++", "clang++")
    for command in ([given] if given else [[name] for name in names]):
        path = shutil.which(command[0])
        if path and not _is_stub(path):
            return command
    return []


def _is_stub(path: str) -> bool:
    """Whether a program of macOS only opens a dialog that offers to install the command line tools."""
    if sys.platform != "darwin" or os.path.dirname(path) != "/usr/bin":
        return False
    try:
        asked = subprocess.run(["/usr/bin/xcode-select", "-p"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return True
    # It may name an Xcode that has been deleted.
    return asked.returncode != 0 or not os.path.isdir(os.fsdecode(asked.stdout).rstrip("\n"))


def _compiler_environment() -> dict[str, str]:
    """Without variables of the script's that change what a compiler finds.

    conda's compilers set the deployment target to macOS 11, whose C++ library lacks what the sources use.
    """
    return {name: value for name, value in os.environ.items()
            if name not in ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "MACOSX_DEPLOYMENT_TARGET")}


@contextlib.contextmanager
def _locked(path):
    """Holds the file `path` against other builds; yields why it did not get it in time, else ""."""
    with _open_new(path, emptied=0) as file:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    yield _holder(path, file.read(20))
                    return
                time.sleep(0.05)
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)
        yield ""


def _holder(path: str, builder: str) -> str:
    """Why a lock that another process holds keeps this one from the library. `builder`: what builds note there."""
    if builder.strip().isdigit() and _is_alive(int(builder)):
        return f"process {builder.strip()} is building Highwater's part for this PyTorch; the next run will have it"
    return f"another process holds {path}, and does not build. End it, or name another cache folder by XDG_CACHE_HOME"


def _versions(path) -> tuple[str, str]:
    """`__version__` and `git_version` as PyTorch's version.py assigns them; "" where it does not."""
    found = {"__version__": "", "git_version": ""}
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError):
        return "", ""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found.update({target.id: str(node.value.value) for target in node.targets
                          if isinstance(target, ast.Name) and target.id in found})
    return found["__version__"], found["git_version"]


def _has_new_abi(path) -> bool:
    """Whether the constructors of c10::Error take the strings of the new ABI. Told by the names in the file."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as names:
            return names.find(b"_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx11") >= 0
    except (OSError, ValueError):
        return False


def _sources_in(folder):
    """All files but those of libraries that are built already, which can be many megabytes."""
    for path, _, names in os.walk(folder):
        yield from (os.path.join(path, name) for name in names if name not in (PREBUILT, BUILT_FOR))
