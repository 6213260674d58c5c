"""The command of a wheel, with a program of the test's; macOS's part with a stand-in for codesign."""
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # makes highwater_mps importable
from highwater_mps import _command

# Is killed, as macOS kills a program, until it is signed as often as it wants.
PROGRAM = """#!/bin/sh
echo started >>"{folder}/starts"
[ $(grep -c '^# SIGNED' "$0") -ge {wanted} ] || kill -9 $$
echo "HIGHWATER_PYTHON=$HIGHWATER_PYTHON" "$@"
exit 3
"""
CODESIGN = """#!/bin/sh
for file; do :; done
echo "# SIGNED" >>"$file"
"""


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        variables = {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "HOME": self.folder}
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(_command, "_tell", lambda text: self.told.append(text))
        patch.start()
        self.addCleanup(patch.stop)
        self.told = []
        self.codesign = self.write("codesign", CODESIGN)
        self.program = self.write("program/bin/highwater", PROGRAM.format(folder=self.folder, wanted=0))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def make_startable(self, wanted=0):
        if wanted:
            self.write("program/bin/highwater", PROGRAM.format(folder=self.folder, wanted=wanted))
        return _command.make_startable(self.program, self.codesign)

    def starts(self):
        with open(os.path.join(self.folder, "starts")) as file:
            return len(file.readlines())

    def test_a_new_program_is_tried_once(self):
        self.assertEqual([self.make_startable(), self.make_startable()], ["", ""])
        self.assertEqual(self.starts(), 1)
        self.assertEqual(len(self.told), 1)
        self.assertIn("the first start", self.told[0])

    def test_a_killed_program_is_signed_again(self):
        library = self.write("program/Qt/lib/QtCore", "")
        with open(library, "wb") as file:
            file.write(_command.MACH_O + b"\0\n")
        other = self.write("program/share/doc/LICENSE", "text\n")
        before = os.stat(self.program).st_ino
        self.assertEqual(self.make_startable(wanted=1), "")
        self.assertNotEqual(os.stat(self.program).st_ino, before)
        self.assertTrue(os.access(self.program, os.X_OK))
        with open(library, "rb") as file:
            self.assertTrue(file.read().endswith(b"# SIGNED\n"))
        with open(other) as file:
            self.assertEqual(file.read(), "text\n")
        self.assertEqual(self.make_startable(), "")
        self.assertEqual(self.starts(), 2)
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.program))), ["highwater"])

    def test_a_probe_that_kills_its_python(self):
        probe = "program/lib/script/prebuilt/2.13.0-0123456789/libhighwater_script.so"
        self.write(probe, "")
        python = self.write("python", '#!/bin/sh\ngrep -q SIGNED "$3" || kill -9 $$\n')
        with open(os.path.join(self.folder, probe), "wb") as file:
            file.write(_command.MACH_O + b"\n")
        with mock.patch.object(sys, "executable", python):
            self.assertEqual(self.make_startable(), "")
        self.assertIn("signing it again", "".join(self.told))

    def test_a_start_that_hangs_is_not_waited_for(self):
        self.write("program/bin/highwater", "#!/bin/sh\nexec sleep 100\n")
        with mock.patch.object(_command, "TRIAL_LIMIT_S", 0.1):
            self.assertEqual(_command.make_startable(self.program, self.codesign), "")

    def test_a_program_that_stays_killed(self):
        self.assertIn("macOS kills the program, also when it is signed again", self.make_startable(wanted=2))

    def test_signing_that_fails(self):
        self.write("codesign", "#!/bin/sh\necho no identity >&2\nexit 1\n")
        self.assertIn(f"cannot sign {self.program}: no identity", self.make_startable(wanted=1))
        self.codesign = os.path.join(self.folder, "gone")
        self.assertIn("gone: No such file or directory", self.make_startable())

    def test_a_folder_that_is_read_only(self):
        made = f"{self.program}.{os.getpid()}"
        refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES), made)  # root may write everywhere
        with mock.patch.object(_command.shutil, "copy2", side_effect=refused):
            self.assertIn(f"cannot be signed again: {made}: Permission denied. Install Highwater where you may write",
                          self.make_startable(wanted=1))

    def test_a_program_that_may_not_be_replaced(self):
        refused = PermissionError(errno.EPERM, os.strerror(errno.EPERM), self.program)
        with mock.patch.object(_command.os, "replace", side_effect=refused):
            self.assertIn(f"{self.program}: Operation not permitted. Install Highwater where you may write",
                          self.make_startable(wanted=1))
        self.assertEqual(os.listdir(os.path.dirname(self.program)), ["highwater"])

    def test_a_cache_that_cannot_be_written(self):
        self.write("cache", "")
        self.assertEqual(self.make_startable(), "")

    def run_command(self, *arguments):
        code = f"import sys; from highwater_mps import _command; _command.PROGRAM = {self.program!r}; sys.exit(_command.main())"
        return subprocess.run([sys.executable, "-c", code, *arguments], env={**os.environ, "PYTHONPATH": support.SOURCES},
                              capture_output=True, text=True, check=False, timeout=300)

    @unittest.skipIf(sys.platform == "darwin", "there the program is tried first")
    def test_becomes_the_program(self):
        done = self.run_command("report", "a b")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, "^HIGHWATER_PYTHON=/.*python[0-9.]* report a b\n$")

    def test_signals_that_python_ignores_are_not_ignored_by_the_program(self):
        self.write("program/bin/highwater", "#!/bin/sh\nkill -PIPE $$\nexit 3\n")
        self.assertEqual(self.run_command().returncode, -signal.SIGPIPE)

    def test_without_the_program(self):
        os.remove(self.program)
        done = self.run_command()
        self.assertEqual(done.returncode, 1)
        self.assertIn("this is the Python package alone", done.stderr)

    def test_a_program_that_is_none(self):
        os.chmod(self.program, 0o600)
        done = self.run_command()
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be started: Permission denied. Install Highwater again", done.stderr)


if __name__ == "__main__":
    unittest.main()
