"""The native part as a user's machine builds it for a PyTorch other than the build's: compiled, loaded and attached.

Needs HIGHWATER_SCRIPT_SOURCES, the folder of torch_part.cpp.
"""
import os
import shlex
import socket
import subprocess
import tempfile
import threading
import unittest

import support
from highwater_mps import _library

SOURCES = os.environ.get("HIGHWATER_SCRIPT_SOURCES", "")
TOKEN = "a-token-of-the-test"

# What the hooks do from the first sign of a training on, until no window accepts them.
SCRIPT = support.TRAIN + """
from highwater_mps import _attach
probe, problem = _attach.make_probe()
assert probe, problem
probe.begin_phase(b"forward")
probe.enter_module(b"Linear")
train(2)
probe.leave_module()
probe.end_phase()
print(probe._library._name)
print(probe.connect(sys.argv[1], sys.argv[2]))
print(bool(probe._library.hw_is_running() & 0xFF))
probe.stop()
train(1)
"""


class Host:
    """Listens at a socket, takes the first frame of whoever connects, and hangs up."""

    def __init__(self, path):
        self.frame = b""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as stream:
            prefix = stream.read(4)
            self.frame = prefix + stream.read(int.from_bytes(prefix, "little"))

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass
        self._thread.join()
        self._listener.close()


@unittest.skipUnless(os.path.exists(os.path.join(SOURCES, "torch_part.cpp")),
                     "HIGHWATER_SCRIPT_SOURCES does not name the folder of torch_part.cpp")
@unittest.skipUnless(_library.compiler(), "there is no C++ compiler")
class BuiltLibrary(unittest.TestCase):
    def test_compiles_loads_and_attaches(self):
        with tempfile.TemporaryDirectory() as folder:
            native = os.path.join(folder, "native")
            os.mkdir(native)
            for name in ("torch_part.cpp", "exports.map", "include"):  # all but the library of this build
                os.symlink(os.path.join(SOURCES, name), os.path.join(native, name))
            token = os.path.join(folder, "token")
            with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(TOKEN + "\n")
            path, cache = os.path.join(folder, "socket"), os.path.join(folder, "cache")
            compiler = os.path.join(folder, "compiler")  # which need not optimize
            with open(os.open(compiler, os.O_WRONLY | os.O_CREAT, 0o700), "w") as file:
                file.write(f'#!/bin/sh\nexec {shlex.join(_library.compiler())} "$@" -O0\n')
            host = Host(path)
            self.addCleanup(host.close)
            done = subprocess.run(
                [support.PYTHON, "-c", SCRIPT, path, token], capture_output=True, text=True, timeout=600, check=False,
                env=support.base_environment(HIGHWATER_NATIVE=native, XDG_CACHE_HOME=cache, HOME=folder, CXX=compiler,
                                             PYTHONPATH=support.SOURCES))
            log = "".join(open(entry.path).read() for entry in os.scandir(os.path.join(cache, "highwater"))
                          if entry.name.endswith(".log")) if os.path.isdir(cache) else ""
            self.assertEqual(done.returncode, 0, done.stderr + log)
            library, answer, records = done.stdout.splitlines()
            host.close()
        self.assertTrue(os.path.basename(library).startswith("probe-torch"), library)
        self.assertIn("Highwater: built in ", done.stderr)
        self.assertEqual(host.frame[8:12], b"HWTR")
        self.assertIn(TOKEN.encode(), host.frame)
        self.assertEqual(answer, "Highwater has closed the connection")
        # Nobody takes what is recorded from then on: it would pile up.
        self.assertEqual(records, "False")


if __name__ == "__main__":
    unittest.main()
