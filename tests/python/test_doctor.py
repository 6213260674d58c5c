"""`python -m highwater_mps._doctor`, and the package as pip installs it, in interpreters made for the test."""
import _ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import PYTHON, RECORDING, SCRIPTS, SOURCES, Log, base_environment

COMMIT = "cf30153c4c13"
COMPILER = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && cp "{library}" "$2"; shift; done
exit {code}
"""


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.native = self.make_folder("native")
        self.write("native/torch_part.cpp", "")
        self.packages = self.make_folder("packages")

    def make_folder(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def make_torch(self, version="2.9.0", abi="_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string"):
        """A PyTorch that can be imported and has no more than the doctor asks for."""
        self.write("packages/torch/__init__.py", """
class backends:
    class mps:
        is_built = is_available = staticmethod(lambda: False)
""")
        self.write("packages/torch/version.py", f"__version__ = '{version}'\ngit_version = '{COMMIT}'\n")
        self.write("packages/torch/lib/libc10.so", abi)

    def make_compiler(self, code=0):
        library = _ctypes.__file__  # a shared library that this interpreter can load
        path = self.write("compiler", COMPILER.format(library=library, code=code))
        os.chmod(path, 0o700)
        return path

    def ask(self, **variables):
        """The doctor's answer, and what it said on stderr. -S: without the PyTorch of this build."""
        environment = base_environment(
            HIGHWATER_NATIVE=self.native, XDG_CACHE_HOME=os.path.join(self.folder, "cache"), HOME=self.folder,
            CXX=self.make_compiler(), **variables)
        environment["PYTHONPATH"] = os.pathsep.join([self.packages, SOURCES])
        done = subprocess.run([PYTHON, "-S", "-m", "highwater_mps._doctor"], env=environment, capture_output=True,
                              text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def test_builds_and_then_finds(self):
        self.make_torch()
        first, progress = self.ask()
        self.assertEqual(first["problem"], "")
        self.assertEqual((first["origin"], first["torch"], first["mps_built"]), ("built", "2.9.0", False))
        self.assertTrue(os.path.exists(first["library"]))
        self.assertIn("building", progress)
        second, progress = self.ask()
        self.assertEqual((second["origin"], second["library"]), ("cached", first["library"]))
        self.assertEqual(progress, "")

    def test_prebuilt(self):
        self.make_torch()
        shutil.copy(_ctypes.__file__, os.path.join(self.native, "libhighwater_script.so"))
        self.write("native/built_for.txt", f"2.9.0 {COMMIT}\n")
        self.assertEqual(self.ask()[0]["origin"], "prebuilt")

    def test_library_that_does_not_load(self):
        self.make_torch()
        self.write("native/libhighwater_script.so", "no library")
        self.write("native/built_for.txt", f"2.9.0 {COMMIT}\n")
        self.assertIn("cannot load", self.ask()[0]["problem"])

    def test_torch_that_does_not_import(self):
        self.make_torch()
        self.write("packages/torch/__init__.py", "raise ImportError('libcudart is missing')")
        self.assertIn("import torch fails: ImportError: libcudart is missing", self.ask()[0]["problem"])

    def test_no_torch(self):
        answer, _ = self.ask()
        self.assertIn("has no PyTorch", answer["problem"])
        self.assertNotIn("library", answer)

    def test_failing_build_keeps_the_compilers_words(self):
        self.make_torch()
        compiler = self.write("words", "#!/bin/sh\necho 'no such header' >&2\nexit 1\n")
        os.chmod(compiler, 0o700)
        self.make_compiler = lambda: compiler
        answer, _ = self.ask()
        self.assertIn("the compiler failed", answer["problem"])
        with open(answer["problem"].split()[-1]) as log:
            self.assertIn("no such header", log.read())


class Installed(unittest.TestCase):
    """The package as `pip install src/python` leaves it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        sources = os.path.join(cls.folder, "sources")  # a build leaves files beside them
        shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        venv = os.path.join(cls.folder, "venv")
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], capture_output=True, check=True)
        cls.python = os.path.join(venv, "bin", "python")
        cls.add_packages()
        done = subprocess.run([cls.python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                               "--no-index", sources], capture_output=True, text=True, check=False)
        if done.returncode and ("No module named" in done.stderr or "bdist_wheel" in done.stderr):
            raise unittest.SkipTest("this Python has no pip, setuptools or wheel")
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    @classmethod
    def add_packages(cls):
        """Lets the environment find what PYTHON has installed, such as PyTorch and pip, behind its own packages."""
        ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        theirs, own = (subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout
                       for python in (PYTHON, cls.python))
        with open(os.path.join(own.strip(), "other.pth"), "w") as file:
            file.write(theirs)

    def run_python(self, *arguments, **variables):
        environment = base_environment(**variables)
        return subprocess.run([self.python, *arguments], env=environment, cwd=SCRIPTS, capture_output=True,
                              text=True, check=False, timeout=300)

    def test_import(self):
        done = self.run_python("-c", "import highwater_mps as highwater; print(highwater.__file__, highwater.knob('a', 3))",
                               PYTHONPATH="")
        self.assertEqual(done.returncode, 0, done.stderr)
        path, value = done.stdout.split()
        self.assertTrue(path.startswith(self.folder), path)
        self.assertEqual(value, "3")

    def test_runs_a_script(self):
        log = os.path.join(self.folder, "log")
        done = self.run_python("-W", "ignore", "-m", "highwater_mps", "plain_loop.py", PYTHONPATH=RECORDING,
                               HIGHWATER_SCRIPT_SOCKET=os.path.join(self.folder, "socket"),
                               HIGHWATER_SCRIPT_TOKEN="token",
                               HIGHWATER_TEST_LOG=log)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log) as file:
            steps = Log(file.readlines()).steps()
        self.assertTrue(steps)
        plain = self.run_python("-W", "ignore", "plain_loop.py", PYTHONPATH="")
        self.assertEqual(done.stdout, plain.stdout)

    def test_doctor(self):
        done = self.run_python("-m", "highwater_mps._doctor", PYTHONPATH="")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("HIGHWATER_NATIVE", json.loads(done.stdout)["problem"])


if __name__ == "__main__":
    unittest.main()
