"""The native part's build: found PyTorch, cache, lock, and errors, with a compiler of the test's."""
import os
import stat
import sys
import tempfile
import threading
import unittest
from unittest import mock

import support  # noqa: F401  makes highwater importable
from highwater import _library

COMPILER = """#!/bin/sh
echo "$@" >> "{folder}/calls"
sleep 0.2
while [ $# -gt 1 ]; do [ "$1" = -o ] && echo built > "$2"; shift; done
exit {code}
"""


class Build(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.native = os.path.join(self.folder, "native")
        os.mkdir(self.native)
        for name in ("torch_part.cpp", "probe.h", "exports.map"):
            open(os.path.join(self.native, name), "w").close()
        self.cache = os.path.join(self.folder, "cache")
        variables = {_library.NATIVE: self.native, "XDG_CACHE_HOME": self.cache, "HOME": self.folder}
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)
        self.use_compiler(0)
        torch = _library.Torch("/torch", "2.13.0", "abc", True)
        patch = mock.patch.object(_library, "find_torch", lambda: (self.torch, ""))
        self.torch = torch
        patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(sys, "stderr", open(os.devnull, "w"))
        patch.start()
        self.addCleanup(patch.stop)

    def use_compiler(self, code):
        path = os.path.join(self.folder, "compiler")
        with open(path, "w") as file:
            file.write(COMPILER.format(folder=self.folder, code=code))
        os.chmod(path, stat.S_IRWXU)
        os.environ["CXX"] = path

    def calls(self):
        try:
            with open(os.path.join(self.folder, "calls")) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def test_builds_once(self):
        path, problem = _library.find_library()
        self.assertEqual(problem, "")
        self.assertTrue(os.path.exists(path))
        self.assertEqual(_library.find_library(), (path, ""))
        self.assertEqual(len(self.calls()), 2)  # compile, link
        self.assertIn("-std=c++20", self.calls()[0])

    def test_another_torch_is_another_library(self):
        path, _ = _library.find_library()
        for changed in ({"git_version": "abd"}, {"version": "2.14.0"}, {"folder": "/other"}):
            self.torch = self.torch._replace(**changed)
            other, problem = _library.find_library()
            self.assertEqual(problem, "")
            self.assertNotEqual(other, path)
            path = other

    def test_changed_sources_are_another_library(self):
        path, _ = _library.find_library()
        with open(os.path.join(self.native, "probe.h"), "w") as file:
            file.write("newer")
        self.assertNotEqual(_library.find_library()[0], path)

    def test_two_at_once_build_once(self):
        found = []
        threads = [threading.Thread(target=lambda: found.append(_library.find_library())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(found)), 1)
        self.assertEqual(found[0][1], "")
        self.assertEqual(len(self.calls()), 2)

    def test_failure_names_the_log(self):
        self.use_compiler(1)
        path, problem = _library.find_library()
        self.assertIn("the compiler failed", problem)
        log = problem.split()[-1]
        self.assertIn("-std=c++20", open(log).read())
        self.assertFalse(os.path.exists(path))
        self.assertEqual([name for name in os.listdir(os.path.dirname(log)) if name.endswith(".o")], [])

    def test_readiness_builds_nothing(self):
        self.assertEqual(_library.readiness(self.native), ("2.13.0", "", False))
        self.assertEqual(self.calls(), [])
        _library.find_library()
        self.assertEqual(_library.readiness(self.native), ("2.13.0", "", True))
        os.environ["CXX"] = "/no/such/compiler"
        self.assertEqual(_library.readiness(self.native), ("2.13.0", "", True))
        self.torch = self.torch._replace(git_version="abd")
        version, problem, ready = _library.readiness(self.native)
        self.assertEqual((version, ready), ("2.13.0", False))
        self.assertIn("there is no C++ compiler", problem)

    def test_no_compiler(self):
        os.environ["CXX"] = "/no/such/compiler"
        self.assertIn("there is no C++ compiler", _library.find_library()[1])

    def test_cache_that_cannot_be_made(self):
        open(self.cache, "w").close()
        self.assertIn("cannot write the cache folder", _library.find_library()[1])

    def test_no_sources(self):
        os.remove(os.path.join(self.native, "torch_part.cpp"))
        self.assertIn("no torch_part.cpp", _library.find_library()[1])
        del os.environ[_library.NATIVE]
        self.assertIn("does not name the folder", _library.find_library()[1])


class FoundTorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "torch")
        os.makedirs(os.path.join(self.folder, "lib"))
        open(os.path.join(self.folder, "__init__.py"), "w").close()
        self.write("lib/libc10.so", "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string")
        patches = (mock.patch.object(sys, "path", [folder.name]), mock.patch.dict(sys.modules))
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        sys.modules.pop("torch", None)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def test_is_read_without_import(self):
        self.write("version.py", "__version__ = '2.9.1+cu128'\ncuda: str = '12'\ngit_version = 'abc'\n")
        torch, problem = _library.find_torch()
        self.assertEqual(problem, "")
        self.assertEqual(torch, _library.Torch(self.folder, "2.9.1+cu128", "abc", True))
        self.assertNotIn("torch", sys.modules)

    def test_too_old(self):
        self.write("version.py", "__version__ = '2.5.1'\ngit_version = 'abc'\n")
        self.assertEqual(_library.find_torch(), (None, "PyTorch 2.5.1 is too old; Highwater needs 2.6 or later"))

    @unittest.skipIf(sys.platform == "darwin", "Macs have one ABI")
    def test_old_abi(self):
        self.write("version.py", "__version__ = '2.6.0+cu124'\ngit_version = 'abc'\n")
        self.write("lib/libc10.so", "_ZN3c105ErrorC2ENS_14SourceLocationESs")
        self.assertIn("old C++ ABI", _library.find_torch()[1])

    def test_unreadable_version(self):
        self.assertIn("does not tell PyTorch's version", _library.find_torch()[1])

    def test_absent(self):
        sys.path[:] = []
        self.assertIn("has no PyTorch", _library.find_torch()[1])


if __name__ == "__main__":
    unittest.main()
