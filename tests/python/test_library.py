"""The native part's build: found PyTorch, cache, lock, and errors, with a compiler of the test's."""
import contextlib
import fcntl
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import support  # noqa: F401  makes highwater importable
from highwater_mps import _library

COMPILER = """#!/bin/sh
echo "$@" >> "{folder}/calls"
while [ $# -gt 1 ]; do [ "$1" = -o ] && echo built > "$2"; shift; done
exit {code}
"""


COMMIT = "cf30153c4c131c8164ee7798e5022d810682e2cb"


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
        torch = _library.Torch("/torch", "2.13.0", COMMIT, True)
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

    def write_source(self, text, time):
        path = os.path.join(self.native, "probe.h")
        with open(path, "w") as file:
            file.write(text)
        os.utime(path, (time, time))

    def test_changed_sources_are_another_library(self):
        """Also where an installer gives each version's files the same time."""
        self.write_source("older", 1)
        path, _ = _library.find_library()
        self.write_source("newer", 1)
        self.assertNotEqual(_library.find_library()[0], path)

    def test_the_same_sources_are_the_same_library(self):
        """Wherever and whenever they were installed, and whichever libraries are built already."""
        self.write_source("same", 1)
        path, _ = _library.find_library()
        self.write_source("same", 2)
        self.put_prebuilt("2.12.0", "1" * 40, f"prebuilt/2.12.0-{'1' * 10}")
        moved = self.native + " moved"
        os.rename(self.native, moved)
        os.environ[_library.NATIVE] = moved
        self.assertEqual(_library.find_library(), (path, ""))
        self.assertEqual(len(self.calls()), 2)  # compile, link

    def cached(self):
        """The path that the library has in the cache."""
        return os.path.join(_library.cache_folder(), _library.cache_name(self.torch, self.native))

    def test_a_build_by_another_process_is_not_waited_for(self):
        os.makedirs(_library.cache_folder())
        with open(self.cached() + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            print(os.getpid(), file=lock, flush=True)
            self.assertRegex(_library.find_library()[1], rf"process {os.getpid()} is building .* the next run will have it")
            lock.truncate(0)
            self.assertIn("another process holds ", _library.find_library()[1])
        self.assertEqual(self.calls(), [])
        self.assertEqual(_library.find_library(), (self.cached(), ""))

    def test_while_one_builds(self):
        """The lock says who builds, from the first command of the compiler on."""
        go = os.path.join(self.folder, "go")
        with open(os.environ["CXX"], "a+") as file:
            file.seek(0)
            text = file.read().replace("exit 0", f"while [ ! -e '{go}' ]; do sleep 0.01; done")
            file.truncate(0)
            file.write(text)
        found = []
        thread = threading.Thread(target=lambda: found.append(_library.find_library()))
        thread.start()
        while not self.calls():
            self.assertTrue(thread.is_alive())
        self.assertIn("the next run will have it", _library.find_library()[1])
        open(go, "w").close()
        thread.join()
        self.assertEqual(found, [(self.cached(), "")])
        self.assertEqual(len(self.calls()), 2)

    def test_is_for_this_user_only(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        path, problem = _library.find_library()
        self.assertEqual(problem, "")
        folder = os.path.dirname(path)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertEqual({stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(folder)}, {0o600})

    def test_a_loose_folder_is_closed(self):
        os.makedirs(_library.cache_folder())
        os.chmod(_library.cache_folder(), 0o777)
        self.assertEqual(_library.find_library()[1], "")
        self.assertEqual(stat.S_IMODE(os.stat(_library.cache_folder()).st_mode), 0o700)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_what_others_own_is_not_used(self):
        path, _ = _library.find_library()
        os.chown(path, 65534, 65534)
        self.assertFalse(_library.is_sound(path))
        os.chown(os.path.dirname(path), 65534, 65534)
        self.assertEqual(_library.find_library(), (
            "", f"the cache folder {os.path.dirname(path)} belongs to another user (uid 65534). Remove it, or name "
                "another by XDG_CACHE_HOME"))

    def test_a_folder_that_others_can_replace_is_not_used(self):
        folder = _library.cache_folder()
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.chmod(os.path.dirname(folder), 0o777)
        path, problem = _library.find_library()
        self.assertEqual(path, "")
        self.assertRegex(problem, "others can put another cache folder in place of .*highwater. Close .* to them, or name")
        os.chmod(os.path.dirname(folder), 0o1777)  # as /tmp
        self.assertEqual(_library.find_library()[1], "")
        os.rename(folder, folder + ".kept")
        os.symlink(folder + ".kept", folder)
        self.assertIn("is a link", _library.find_library()[1])

    def test_what_is_not_as_it_was_built_is_built_again(self):
        path, _ = _library.find_library()
        good = open(path, "rb").read()

        def replace_by_link():
            os.rename(path, f"{path}.kept")
            os.symlink(f"{path}.kept", path)

        def write(name, content):
            with open(name, "wb") as file:
                file.write(content)

        for damage in (lambda: write(path, b""), lambda: write(path, good[:-1]), lambda: write(path, b"x" + good[1:]),
                       lambda: os.chmod(path, 0o666), lambda: os.remove(f"{path}.sha256"), replace_by_link,
                       lambda: (os.remove(path), os.mkfifo(path, 0o600)),
                       lambda: write(f"{path}.sha256", b"7 wrong")):
            damage()
            self.assertFalse(_library.is_sound(path))
            self.assertFalse(_library.readiness(self.native)[2])
            self.assertEqual(_library.find_library(), (path, ""))
            self.assertTrue(_library.is_sound(path))
            self.assertTrue(stat.S_ISREG(os.lstat(path).st_mode))
            self.assertEqual(open(path, "rb").read(), good)

    def test_links_are_not_followed(self):
        """The log and the lock are written; what a link there leads to is not."""
        os.makedirs(_library.cache_folder())
        victim = os.path.join(self.folder, "victim")
        for end in (".lock", ".log"):
            with open(victim, "w") as file:
                file.write("mine")
            os.symlink(victim, self.cached() + end)
            self.assertIn("cannot write the cache folder", _library.find_library()[1])
            self.assertEqual(open(victim).read(), "mine")
            os.remove(self.cached() + end)

    def test_leftovers_of_killed_builds_are_removed(self):
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        os.makedirs(_library.cache_folder())
        left = [f"{self.cached()}.{dead.pid}{end}" for end in ("", ".o", ".sha256")]
        kept = [f"{self.cached()}.{os.getpid()}.sha", f"{self.cached()}.{os.getppid()}.o", self.cached() + ".old"]
        for path in left + kept:
            open(path, "w").close()
        _library.find_library()
        self.assertEqual([path for path in left + kept if os.path.exists(path)], kept)

    def test_a_compiler_that_cannot_be_started(self):
        with open(os.environ["CXX"], "w") as file:
            file.write("#!/no/such/shell")
        self.assertIn("compiler cannot be started: No such file", _library.find_library()[1])

    def test_without_stderr(self):
        with mock.patch.object(sys, "stderr", None), contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(_library.find_library()[1], "")
        self.assertEqual(out.getvalue(), "")

    def test_failure_names_the_log(self):
        self.use_compiler(1)
        path, problem = _library.find_library()
        self.assertIn("the compiler failed", problem)
        log = problem.split()[-1]
        self.assertIn("-std=c++20", open(log).read())
        self.assertFalse(os.path.exists(path))
        self.assertEqual([name for name in os.listdir(os.path.dirname(log)) if name.endswith(".o")], [])

    def put_prebuilt(self, release, commit, folder):
        path = os.path.join(self.native, folder, _library.PREBUILT)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
        with open(os.path.join(os.path.dirname(path), "built_for.txt"), "w") as file:
            file.write(f"{release} {commit}\n")
        return path

    def test_prebuilt_libraries_of_several_releases(self):
        self.put_prebuilt("2.12.0", COMMIT, "")
        self.put_prebuilt("2.12.1", "1" * 40, f"prebuilt/2.12.1-{'1' * 10}")
        self.put_prebuilt("2.13.0", COMMIT[:10] + "0" * 30, f"prebuilt/2.13.0-{COMMIT[:10]}")  # begins alike
        self.assertEqual(_library.prebuilt(self.torch, self.native), "")
        fitting = self.put_prebuilt("2.13.0", COMMIT, f"prebuilt/2.13.0-{COMMIT[:10]}")
        self.assertEqual(_library.find_library(), (fitting, ""))
        self.assertEqual(_library.readiness(self.native), ("2.13.0", "", True))
        self.torch = self.torch._replace(version="2.13.0+cu130")
        self.assertEqual(_library.find_library(), (fitting, ""))
        os.remove(fitting)
        self.assertEqual(_library.prebuilt(self.torch, self.native), "")

    def test_builds_that_do_not_know_their_commit(self):
        self.torch = self.torch._replace(git_version="Unknown")
        self.put_prebuilt("2.13.0", "Unknown", "")
        self.put_prebuilt("2.13.0", "Unknown", "prebuilt/2.13.0-Unknown")
        self.assertEqual(_library.prebuilt(self.torch, self.native), "")

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
        self.assertIn("brings no part for PyTorch 2.13.0 and there is no C++ compiler to build it. Install",
                      _library.find_library()[1])
        for release in "2.9.1", "2.10.0", "2.9.0":
            self.put_prebuilt(release, "1" * 40, f"prebuilt/{release}-{'1' * 10}")
        self.assertIn("for PyTorch 2.13.0, only for 2.9.0, 2.9.1 and 2.10.0, and there is no C++ compiler",
                      _library.find_library()[1])

    def test_a_stub_of_macos_is_no_compiler(self):
        del os.environ["CXX"]
        here, gone = self.folder, "/Applications/Deleted Xcode.app"
        for path, answer, tools, found in (
                ("/usr/bin/clang++", 0, here, ["clang++"]), ("/usr/bin/clang++", 0, gone, []),
                ("/usr/bin/clang++", 2, "", []), ("/usr/bin/clang++", None, "", []),
                ("/opt/homebrew/bin/clang++", 2, "", ["clang++"])):
            asked = mock.Mock(return_value=mock.Mock(returncode=answer, stdout=os.fsencode(tools) + b"\n"))
            if answer is None:
                asked.side_effect = subprocess.TimeoutExpired("xcode-select", 5)
            with self.subTest(path=path, answer=answer, tools=tools), mock.patch.object(sys, "platform", "darwin"), \
                    mock.patch.object(_library.shutil, "which", return_value=path), \
                    mock.patch.object(_library.subprocess, "run", asked):
                self.assertEqual(_library.compiler(), found)
                for call in asked.call_args_list:
                    self.assertEqual(call.args[0], ["/usr/bin/xcode-select", "-p"])
                if not found:
                    problem = _library.build(self.torch, self.native, os.path.join(self.folder, "library"))
                    self.assertIn("Install the command line tools of Xcode (xcode-select --install)", problem)

    def test_a_cache_folder_that_is_named_is_used_on_a_mac_too(self):
        with mock.patch.object(sys, "platform", "darwin"):
            self.assertEqual(_library.cache_folder(), os.path.join(os.environ["XDG_CACHE_HOME"], "highwater"))
            del os.environ["XDG_CACHE_HOME"]
            self.assertEqual(_library.cache_folder(), os.path.join(os.environ["HOME"], "Library/Caches/highwater"))

    def test_variables_that_change_the_compiler(self):
        changing = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "MACOSX_DEPLOYMENT_TARGET")
        os.environ.update(dict.fromkeys(changing, "11.0"))
        os.environ["SDKROOT"] = "/sdk"  # conda's compilers need it
        environment = _library._compiler_environment()
        self.assertFalse(set(changing) & set(environment))
        self.assertEqual(environment["SDKROOT"], "/sdk")

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

    def test_what_cannot_be_used(self):
        rows = {"too old": ("2.5.1", "", "PyTorch 2.5.1 is too old; Highwater needs 2.6 or later"),
                "no version": ("", "", "does not tell PyTorch's version")}
        if sys.platform != "darwin":  # Macs have one ABI
            rows["old ABI"] = ("2.6.0+cu124", "_ZN3c105ErrorC2ENS_14SourceLocationESs", "old C++ ABI")
        for name, (version, symbols, problem) in rows.items():
            with self.subTest(name):
                self.write("version.py", f"__version__ = '{version}'\ngit_version = 'abc'\n" if version else "")
                if symbols:
                    self.write("lib/libc10.so", symbols)
                torch, said = _library.find_torch()
                self.assertIsNone(torch)
                self.assertIn(problem, said)

    def test_an_intel_python_has_no_newer_one(self):
        self.write("version.py", "__version__ = '2.2.2'\ngit_version = 'abc'\n")
        for machine, wanted in ("x86_64", True), ("arm64", False):
            with mock.patch.object(sys, "platform", "darwin"), mock.patch("platform.machine", lambda: machine):
                self.assertEqual("take one for Apple silicon" in _library.find_torch()[1], wanted)

    def test_absent(self):
        sys.path[:] = []
        self.assertIn("has no PyTorch", _library.find_torch()[1])


if __name__ == "__main__":
    unittest.main()
