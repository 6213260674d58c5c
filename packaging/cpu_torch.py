#!/usr/bin/env python3
"""Unpacks a PyTorch wheel for Linux as a libtorch without CUDA.

    cpu_torch.py WHEEL SITE_PACKAGES

PyPI's wheels for Linux are CUDA builds: most of their size is CUDA code, they need gigabytes of NVIDIA's
libraries, and their CMake package needs the CUDA toolkit. What Highwater uses of them, libtorch_cpu and
libtorch_python, needs some symbols of the rest. So the rest is replaced by small libraries that define just
these symbols: functions of C return 999 (cudaErrorUnknown, CUPTI_ERROR_UNKNOWN), those of C++ abort with
their name. Nothing calls them as long as PyTorch believes to be built without CUDA and torch.distributed, which this
sees to. The CMake package is
replaced by one that knows no CUDA. Other wheels are only unpacked. A CUDA build needs cc, nm and readelf.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The parts of the wheel that only CUDA needs.
CUDA_LIBRARIES = re.compile(r"torch/lib/lib(torch_cuda.*|c10_cuda|caffe2_nvrtc|torch_nvshmem)\.so$")
OF_CUDA = re.compile(r"lib(cu|nv|nccl|torch_cuda|torch_nvshmem|c10_cuda)")
CUDA_FUNCTION = re.compile(r"(cuda|cudnn|cupti|cu[A-Z]|cusparse|nvrtc|nvtx|nccl)")

# These return a reference in which libtorch_python keeps a function for CUDA's use.
CALLED_BY_LOADING = {"_ZN4c10d15get_gil_checkerEv"}

TORCH_CONFIG = """\
# Written by Highwater's packaging/cpu_torch.py in place of that of the CUDA build.
get_filename_component(TORCH_INSTALL_PREFIX "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
set(TORCH_INCLUDE_DIRS "${{TORCH_INSTALL_PREFIX}}/include" "${{TORCH_INSTALL_PREFIX}}/include/torch/csrc/api/include")
set(TORCH_CXX_FLAGS "{flags}")
if(NOT TARGET torch)
  foreach(name c10 torch_cpu)
    add_library(${{name}} SHARED IMPORTED)
    set_target_properties(${{name}} PROPERTIES IMPORTED_LOCATION "${{TORCH_INSTALL_PREFIX}}/lib/lib${{name}}.so")
  endforeach()
  target_link_libraries(torch_cpu INTERFACE c10)
  # libtorch.so itself only loads the others, the stubs of CUDA among them.
  add_library(torch INTERFACE IMPORTED)
  target_link_libraries(torch INTERFACE "-Wl,--no-as-needed" torch_cpu "-Wl,--as-needed")
  set_target_properties(torch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${{TORCH_INCLUDE_DIRS}}")
endif()
set(TORCH_LIBRARIES torch)
set(TORCH_LIBRARY "${{TORCH_INSTALL_PREFIX}}/lib/libtorch_cpu.so")
set(TORCH_FOUND TRUE)
"""

STUB_HEAD = """\
#include <stdio.h>
#include <stdlib.h>
static void refuse(const char* name) {
  fprintf(stderr, "%s was called, but this libtorch is used without CUDA (Highwater, packaging/cpu_torch.py)\\n", name);
  abort();
}
extern void* classVtable[] __asm__("_ZTVN10__cxxabiv117__class_type_infoE");
"""


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(library, *options):
    """The dynamic symbols, as {name: (type, size, version)}."""
    found = {}
    for line in run("nm", "-D", "-S", *options, library).splitlines():
        words = line.split()
        name, _, version = words[-1].replace("@@", "@").partition("@")
        found[name] = (words[-2], int(words[1], 16) if len(words) == 4 else 0, version)
    return found


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))


def version_files(library):
    """{version: name of the library that is to define it}"""
    files, file = {}, None
    for line in run("readelf", "-V", "-W", library).splitlines():
        if match := re.search(r"File: (\S+)", line):
            file = match[1]
        if file and (match := re.search(r"Name: (\S+) ", line)):
            files[match[1]] = file
    return files


def definition(name, kind, size):
    """C for one symbol."""
    if kind in "TWi":
        if CUDA_FUNCTION.match(name):
            return f"int {name}(void) {{ return 999; }}"
        if name in CALLED_BY_LOADING:
            return f"void* {name}(void) {{ static char place[64]; return place; }}"
        return f'void {name}(void) {{ refuse("{name}"); }}'
    if name.startswith("_ZTI"):  # read as soon as pybind11 registers the class
        return f'const void* {name}[3] = {{classVtable + 2, "{name[4:]}", 0}};'
    return f"char {name}[{max(size, 8)}] __attribute__((aligned(64)));"


def write_stub(path, names, version):
    """names: {symbol: (type, size)}"""
    lines = [STUB_HEAD] + [definition(name, *names[name]) for name in sorted(names)]
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "stub.map")
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.write_text(f"{version} {{ global: *; }};\n" if version else "{ global: *; };\n", encoding="utf-8")
        run("cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-o", path, source, f"-Wl,-soname,{path.name}",
            f"-Wl,--version-script={script}", "-Wl,--no-as-needed", "-l:libstdc++.so.6")


def replace_cuda(torch, removed):
    """Writes the stubs for what the libraries of the folder `torch` need and the wheel no longer has.

    removed: {name of a removed library: its symbols}
    """
    folder = torch / "lib"
    libraries = [path for path in sorted(folder.glob("lib*.so*")) if not path.is_symlink()]
    present = {path.name for path in libraries}
    missing, wanted, unversioned = set(), collections.defaultdict(dict), set()
    versions, defined = {}, set()
    for path in libraries:
        defined |= set(symbols(path, "--defined-only"))
    for path in libraries:
        missing |= {name for name in needed(path) if name not in present and OF_CUDA.match(name)}
        files = version_files(path)
        for name, (_, size, version) in symbols(path, "--undefined-only").items():
            if version in files:
                if files[version] in missing:
                    wanted[files[version]][name] = ("T", size)
                    versions[files[version]] = version
            elif name not in defined:
                unversioned.add(name)
    if not missing:
        return
    # A symbol without a version may be in any of them: the loader looks in all.
    home = min(missing, key=lambda name: (name in versions, name))
    for name in unversioned:
        known = [had[name][:2] for had in removed.values() if name in had]
        if known:
            wanted[home][name] = known[0]
        elif CUDA_FUNCTION.match(name):
            wanted[home][name] = ("T", 0)
    for library in sorted(missing):
        write_stub(folder / library, wanted[library], versions.get(library))


def check_tools():
    absent = [tool for tool in ("cc", "nm", "readelf") if shutil.which(tool) is None]
    if absent:
        sys.exit(f"a CUDA build of PyTorch cannot be used without {' and '.join(absent)}: install a C compiler and GNU "
                 "binutils (Debian: apt-get install build-essential)")


def unpack(wheel, packages):
    """Returns {name of a library that was left out: its symbols}."""
    removed = {}
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory(dir=packages) as scratch:
        names = archive.namelist()
        if any(map(CUDA_LIBRARIES.match, names)):
            check_tools()
        for name in names:
            if CUDA_LIBRARIES.match(name):
                path = archive.extract(name, scratch)
                removed[pathlib.Path(name).name] = symbols(path, "--defined-only")
                pathlib.Path(path).unlink()
            else:
                archive.extract(name, packages)
    return removed


def write_config(torch):
    cmake = torch / "share/cmake/Torch"
    flags = re.search(r'set\(TORCH_CXX_FLAGS "(.*)"\)', (cmake / "TorchConfig.cmake").read_text(encoding="utf-8"))
    (cmake / "TorchConfig.cmake").write_text(TORCH_CONFIG.format(flags=flags[1] if flags else ""),
                                             encoding="utf-8")


def say_no_cuda(torch):
    path = torch / "version.py"
    text = re.sub(r"^(cuda\b.*)= *'.*'$", r"\1= None", path.read_text(encoding="utf-8"), flags=re.M)
    path.write_text(text, encoding="utf-8")


def hide_cuda_from_python(torch):
    """Also hides torch.distributed, since importing that would make an object of NCCL's."""
    path = torch / "__init__.py"
    found = r"^( +)(from torch\._C import \*.*)$"
    without = r"""\1\2
\1import torch._C as _cpu_only
\1_cpu_only._has_cuda = False
\1for _each in ("_cuda_getDeviceCount", "_c10d_init", "_rpc_init", "_dist_autograd_init", "_faulty_agent_init"):
\1    if hasattr(_cpu_only, _each): delattr(_cpu_only, _each)"""
    text, times = re.subn(found, without, path.read_text(encoding="utf-8"), flags=re.M)
    if not times:
        sys.exit(f"{path} loads torch._C in another way than this knows")
    path.write_text(text, encoding="utf-8")


def main(wheel, packages):
    torch = pathlib.Path(packages, "torch")
    removed = unpack(wheel, packages)
    if removed:
        replace_cuda(torch, removed)
        write_config(torch)
        say_no_cuda(torch)
        hide_cuda_from_python(torch)
    for program in (torch / "bin").glob("*"):
        program.chmod(0o755)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
