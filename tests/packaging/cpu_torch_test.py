"""packaging/cpu_torch.py: a CUDA build, here of three small libraries, becomes one that needs no CUDA.

usage: cpu_torch_test.py SOURCE_DIR CC
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE_DIR, CC = sys.argv.pop(1), sys.argv.pop(1)

CUDART = "int cudaMalloc(void) { return 0; }"
TORCH_CUDA = """
int _ZN5torch4cudaEv(void) { return 1; }
long _ZTIN5torch5GroupE[3] = {1, 2, 3};
long _ZN5torch9allocatorE = 5;
"""
TORCH_CPU = """
#include <stddef.h>
int cudaMalloc(void), _ZN5torch4cudaEv(void);
extern void* _ZTIN5torch5GroupE[3];
extern long _ZN5torch9allocatorE;
int at_add(int a, int b) { return a + b; }
int at_malloc(void) { return cudaMalloc(); }
int at_cuda(void) { return _ZN5torch4cudaEv(); }
const char* at_group(void) { return _ZTIN5torch5GroupE[1]; }
long at_allocator(void) { return _ZN5torch9allocatorE; }
"""
RUNTIME_ONLY = """
int cudaMalloc(void);
int at_malloc(void) { return cudaMalloc(); }
"""
FILES = {
    "torch/version.py": "__version__ = '2.9.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n",
    "torch/__init__.py": "if True:\n    from torch._C import *  # noqa: F403\n",
    "torch/share/cmake/Torch/TorchConfig.cmake":
        'if(ON)\n  find_package(CUDA REQUIRED)\nendif()\n  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n',
    "torch/_C.py": "_cuda_getDeviceCount = _c10d_init = kept = len\n_has_cuda = True\n",
}


def build_wheel(folder, cpu=TORCH_CPU, needed=("libcudart.so.12", "libtorch_cuda.so")):
    """A wheel with the CUDA runtime in another one, as PyPI's. Its libtorch_cpu is of the source `cpu`."""
    lib = folder / "torch/lib"
    lib.mkdir(parents=True)

    def library(name, source, *options):
        (folder / "code.c").write_text(source)
        subprocess.run([CC, "-shared", "-fPIC", "-w", "-o", lib / name, folder / "code.c", f"-Wl,-soname,{name}",
                        "-Wl,-rpath,$ORIGIN", f"-L{lib}", *options], check=True)

    (folder / "map").write_text("libcudart.so.12 { global: *; };\n")
    library("libcudart.so.12", CUDART, f"-Wl,--version-script={folder / 'map'}")
    library("libtorch_cuda.so", TORCH_CUDA)
    library("libtorch_cpu.so", cpu, *(f"-l:{name}" for name in needed))
    (lib / "libcudart.so.12").unlink()
    wheel = folder / "torch.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
        for path in lib.iterdir():
            archive.write(path, f"torch/lib/{path.name}")
    return wheel


def unpack(wheel, packages, **options):
    packages.mkdir()
    return subprocess.run([sys.executable, f"{SOURCE_DIR}/packaging/cpu_torch.py", wheel, packages], **options)


class CpuTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        cls.packages = folder / "packages"
        cls.wheel = build_wheel(folder)
        unpack(cls.wheel, cls.packages, check=True)
        cls.library = ctypes.CDLL(cls.packages / "torch/lib/libtorch_cpu.so")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def text(self, name):
        return (self.packages / "torch" / name).read_text()

    def test_it_loads_and_works(self):
        self.assertEqual(self.library.at_add(2, 3), 5)

    def test_functions_of_cuda_fail(self):
        self.assertEqual(self.library.at_malloc(), 999)

    def test_functions_of_torch_cuda_abort_with_their_name(self):
        code = f"import ctypes; ctypes.CDLL('{self.packages}/torch/lib/libtorch_cpu.so').at_cuda()"
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        self.assertLess(done.returncode, 0)
        self.assertIn("_ZN5torch4cudaEv was called", done.stderr)

    def test_data(self):
        self.library.at_group.restype = ctypes.c_char_p
        self.assertEqual(self.library.at_group(), b"N5torch5GroupE")
        self.assertEqual(self.library.at_allocator(), 0)

    def test_the_loader_has_nothing_to_say(self):
        done = subprocess.run([sys.executable, "-c",
                               f"import ctypes; ctypes.CDLL('{self.packages}/torch/lib/libtorch_cpu.so')"],
                              stderr=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_every_missing_library_may_have_versions(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            packages = folder / "packages"
            unpack(build_wheel(folder, RUNTIME_ONLY, ["libcudart.so.12"]), packages, check=True)
            code = f"import ctypes; print(ctypes.CDLL('{packages}/torch/lib/libtorch_cpu.so').at_malloc())"
            done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stdout, "999\n")

    def test_says_which_tools_are_missing(self):
        with tempfile.TemporaryDirectory() as scratch:
            packages = pathlib.Path(scratch, "packages")
            done = unpack(self.wheel, packages, env={"PATH": scratch}, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("without cc and nm and readelf: install", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(list(packages.iterdir()), [])

    def test_cmake_finds_no_cuda(self):
        config = self.text("share/cmake/Torch/TorchConfig.cmake")
        self.assertNotIn("CUDA REQUIRED", config)
        self.assertIn('set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")', config)

    def test_python_finds_no_cuda(self):
        self.assertIn("cuda: Optional[str] = None", self.text("version.py"))
        self.assertIn("__version__ = '2.9.0+cu128'", self.text("version.py"))
        sys.path.insert(0, str(self.packages))
        import torch._C
        self.assertFalse(torch._C._has_cuda)
        self.assertFalse(hasattr(torch._C, "_cuda_getDeviceCount"))
        self.assertFalse(hasattr(torch._C, "_c10d_init"))
        self.assertTrue(hasattr(torch._C, "kept"))


if __name__ == "__main__":
    unittest.main()
