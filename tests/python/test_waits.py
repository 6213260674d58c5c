"""Waits for the device that are no ops: what is recorded of them against the simulated device's own account, the ledger.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import json
import os
import statistics
import subprocess
import sys
import unittest

from support import PYTHON, SCRIPTS
from test_recordings import LIMIT, ON_THE_SIMULATED_DEVICE, SIMULATED, Recording, environment, exported

SCRIPT = "ways_to_wait.py"
STEPS = 5


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class Waits(Recording):
    def waits(self):
        """(line, kind, op, deliberate, ms) of each wait, in order; line 0 where it is unknown."""
        rows = exported(self.path).execute("SELECT ifnull(call_site, ''), kind, ifnull(op, ''), deliberate, duration_ms "
                                           "FROM sync_points ORDER BY begin_ms")
        return [(int(site.split(":")[1].split(" ")[0]) if ":" in site else 0, *more) for site, *more in rows]

    def record_on_the_device(self, command, *options):
        done = self.record_forked([PYTHON, *command], ["--device", "sim", *options])
        self.assertEqual(done.code, 0, done.err)
        return done

    def test_each_way_to_wait(self):
        """Each line's waits are those of the ledger.

        A call holds its wait, and takes some 10 us more; emptying the cache also gives memory back, within 0.3 ms.
        Its thread may lose its core in between: then single waits differ by any time, the median one does not, and
        the sum, of a hundred waits of 20 ms, hardly but for the one that differs most. Where it loses its core before
        a wait, that is short.
        """
        ledger = os.path.join(self.folder, "ledger")
        done = self.record_on_the_device([SCRIPT], "--sim-launch-delay", "1ms", "--sim-ledger", ledger)
        with open(ledger, encoding="utf-8") as file:
            drains = [entry for entry in map(json.loads, file) if entry["event"] == "drain"]
        truth, seen = {}, {}
        for line, begin, end in json.loads(done.out):
            inside = [each["end_ns"] - each["begin_ns"] for each in drains if begin <= each["begin_ns"] < end]
            truth.setdefault(line, []).append(sum(inside) / 1e6)
        for line, kind, op, deliberate, ms in self.waits():
            seen.setdefault(line, []).append((kind, op, deliberate, ms))
        with open(os.path.join(SCRIPTS, SCRIPT), encoding="utf-8") as file:
            texts = dict(enumerate(file, 1))
        queues = {line for line in truth if "# queues" in texts[line]}
        self.assertEqual(len(queues), 2)
        excesses, total = [], 0.0
        for line, waited in truth.items():
            with self.subTest(texts[line].strip()):
                if line in queues:
                    self.assertEqual((sum(waited), seen.get(line)), (0, None))
                    continue
                self.assertGreater(statistics.median(waited), 5)  # else it shows nothing
                recorded = [ms for *_, ms in seen.get(line, [])]
                self.assertEqual(len(recorded), len(waited))
                self.assertEqual({deliberate for _, _, deliberate, _ in seen[line]}, {0})
                of_line = [ms - true for ms, true in zip(recorded, waited)]
                self.assertLess(abs(statistics.median(of_line)), 0.3)
                excesses += of_line
                total += sum(waited)
        self.assertLess(abs(sum(sorted(excesses, key=abs)[:-1])), 0.01 * total)
        for line, text in texts.items():
            if "# evaluates" in text:
                self.assertEqual([wait[:3] for wait in seen[line]], [("synchronize", "torch.mps.synchronize", 1)])

    def test_functions_stay_as_they_were(self):
        """Errors with their tracebacks, documentation, identity and compiled code are those of PyTorch."""
        path = self.write("guest.py", GUEST)
        plain = subprocess.run([PYTHON, "-c", ON_THE_SIMULATED_DEVICE, SIMULATED, path], cwd=self.folder,
                               env=environment(), capture_output=True, text=True, timeout=LIMIT,
                               stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        done = self.record_on_the_device([path])
        self.assertEqual((done.out, done.err.count("Highwater:")), (plain.stdout, 0), done.err)
        waits = [op for line, _, op, *_ in self.waits() if line]  # a call that throws has no line
        # Compiled code calls torch.accelerator's.
        self.assertEqual(sum(op in ("torch.mps.synchronize", "torch.accelerator.synchronize") for op in waits), 4, waits)

    def test_a_wait_in_a_wait_counts_once(self):
        path = self.write("nested.py", TRAIN + """
class Waits(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if op is torch.ops.aten._local_scalar_dense.default: print("inside", torch.mps.synchronize())
        return op(*args, **(kwargs or {}))
train()
with Waits(): loss().item()
train()
""")
        self.assertEqual(self.record_on_the_device([path]).out, "inside None\n")
        self.assertEqual([op for _, _, op, *_ in self.waits()], ["aten::_local_scalar_dense"])

    def test_the_windows_order_is_not_the_scripts_wait(self):
        ledger = os.path.join(self.folder, "ledger")
        path = self.write("order.py", TRAIN + """
import sys
train()
sys.modules["highwater-shared"].training.probe.empty_cache()
train()
torch.mps.synchronize()
""")
        self.record_on_the_device([path], "--sim-ledger", ledger)
        self.assertEqual([op for _, _, op, *_ in self.waits()], ["torch.mps.synchronize"])
        with open(ledger, encoding="utf-8") as file:
            self.assertTrue(any(json.loads(line).get("cause") == "release" for line in file))


TRAIN = """
import torch
model = torch.nn.Linear(8, 8, device="mps")
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.rand(4, 8, device="mps")
def loss(): return model(x).square().mean()
def train():
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
"""

GUEST = """
import inspect, pickle, traceback
import torch
from torch.mps import synchronize
before = torch._C._mps_deviceSynchronize, torch.Event.synchronize, torch.mps.Event.synchronize.__code__
""" + TRAIN + """
train()
print(before == (torch._C._mps_deviceSynchronize, torch.Event.synchronize, torch.mps.Event.synchronize.__code__))
for function in (*before[:2], synchronize, torch._C._accelerator_synchronizeDevice, torch.Generator.get_state):
    try: signature = inspect.signature(function)
    except ValueError: signature = None
    print(function.__name__, function.__doc__, signature, type(function))
print(pickle.loads(pickle.dumps(torch.Event.synchronize)) is before[1])
for wrong in (lambda: torch._C._mps_deviceSynchronize(1), lambda: torch._C._mps_synchronizeEvent("x"),
              lambda: torch._C._accelerator_synchronizeDevice(device=1), lambda: torch.Event.synchronize(1),
              lambda: torch.mps.Event().elapsed_time(2), lambda: torch.Event("mps").elapsed_time(torch.Event("mps")),
              lambda: torch.mps.set_rng_state(torch.zeros(3))):
    try: print(wrong())
    except Exception: print(traceback.format_exc())
@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    y = x * 2
    torch.mps.synchronize()
    return y + 1
print([compiled(x).sum().item() == (x * 2 + 1).sum().item() for _ in range(2)])
print(torch._dynamo.utils.counters["stats"], torch._dynamo.utils.counters["graph_break"])
train()
synchronize(), torch.mps.synchronize()
for _ in range(3): train()
"""
