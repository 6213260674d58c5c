"""Host memory that jobs write: on which thread, and when, it is freed.

Each case runs in its own process, since a failure is a deadlock or a crash.
"""
import os
import subprocess
import sys
import unittest

LIMIT_S = 140

# Destroying a numpy array needs the interpreter's lock; the copy is its last user but one.
BEGIN = """
import numpy as np
from simulated_mps import mps, torch
torch.set_num_threads(1)
x = torch.ones(1500, 1500, device=mps)
torch.mps.synchronize()
for _ in range(4):
    x = x @ x
y = torch.from_numpy(np.zeros((1500, 1500), dtype=np.float32))
y.copy_(x, non_blocking=True)
"""


def run(script):
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
    return subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False, env=environment)


class HostMemory(unittest.TestCase):
    def assert_ends(self, script):
        done = run(script + "\nprint('done', flush=True)")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr[-2000:])

    def test_a_wait_that_keeps_the_interpreters_lock(self):
        self.assert_ends("del y; torch.mps.empty_cache()")
        self.assert_ends("del y; torch.mps.get_rng_state()")

    def test_exit(self):
        self.assert_ends("del y")

    def test_it_is_written_and_freed(self):
        self.assert_ends("""
import gc, weakref
class Array(np.ndarray):
    pass
torch.mps.synchronize()
assert y[0, 0].item() == x[0, 0].item()
array = np.zeros(4, dtype=np.float32).view(Array)
gone = weakref.ref(array)
z = torch.from_numpy(array)
z.copy_(torch.ones(4, device=mps), non_blocking=True)
del z, array
torch.mps.synchronize()
gc.collect()
assert gone() is None
""")


if __name__ == "__main__":
    unittest.main()
