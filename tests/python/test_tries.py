"""`highwater run --try`: what a fix gains, measured by leaving out waits in turns, on the simulated device.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import os
import re
import subprocess
import tempfile
import textwrap
import unittest

from support import PYTHON
from test_recordings import PROGRAM, environment, read

LIMIT = 300  # seconds

TRAIN = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 8)).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows, values = torch.randn(128, 256).to("mps"), []
for step in range({steps}):
    loss = model(rows).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {read}
    time.sleep(0.004)
print("weights", sum(each.abs().sum() for each in model.parameters()).item())
print("values", len(values), len(set(values)))
"""


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Tries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.recording = os.path.join(self.folder.name, "run.highwater")

    def run_script(self, read_line, *options, steps=700):
        script = os.path.join(self.folder.name, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(TRAIN.format(steps=steps, read=read_line)))
        return subprocess.run([PROGRAM, "run", "--record", self.recording, "--force", "--device", "sim", *options, "--",
                               PYTHON, "-W", "ignore", script], env=environment(COLUMNS="200"), text=True,
                              capture_output=True, timeout=LIMIT, check=False, cwd=self.folder.name)

    def gain(self, done, line="train.py:13"):
        """The measured gain in ms a step, or 0 where nothing was seen."""
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(f"without the waits at {re.escape(line)}: (?:(.*?) ms a step, measured|nothing that a try)",
                          done.stderr)
        self.assertTrue(found, done.stderr)
        return float(found.group(1) or 0)

    def test_a_value_that_is_read_in_each_step(self):
        plain = self.run_script("values.append(loss.item())")
        tried = self.run_script("values.append(loss.item())", "--try-all")
        self.gain(tried)
        # The same training, to the bit; only what was read lags.
        self.assertEqual(plain.stdout.splitlines()[0], tried.stdout.splitlines()[0])
        self.assertIn("values 700 700", plain.stdout)
        count, different = tried.stdout.splitlines()[1].split()[1:]
        self.assertEqual(count, "700")
        self.assertLess(int(different), 670)
        # The finding tells what was measured.
        self.assertRegex(tried.stderr, "fixing it saves (.* a step, measured|nothing that a try)")
        report = subprocess.run([PROGRAM, "report", self.recording], env=environment(COLUMNS="200"), text=True,
                                capture_output=True, check=True).stdout
        self.assertIn("tried in steps", report)
        self.assertIn("the estimate was", report)

    def test_copies_and_conditions_of_a_line(self):
        """And a note of the script that says what Highwater's own notes say, which ends no try."""
        line = ("import highwater; values.append((tuple(rows[0, :4].tolist()), bool(loss > 1e9), "
                "loss.detach().cpu().sum().item())); "
                "highwater.mark('Highwater tries no more') if step % 50 == 0 else None")
        done = self.run_script(line, "--try", "train.py:13")
        self.gain(done)
        self.assertIn("weights", done.stdout)

    def test_a_call_that_waits(self):
        self.gain(self.run_script("torch.mps.synchronize()", "--try", "train.py:13"))

    def test_all_are_those_that_a_step_does_not_need(self):
        done = self.run_script("torch.mps.synchronize()", "--try-all", steps=100)
        self.assertIn("no finding was one that can be tried", done.stderr)

    def test_what_pytorch_decides_by_a_value_is_not_left_out(self):
        line = ("amp = globals().setdefault('AMP', torch.amp.GradScaler('mps')); "
                "amp.scale(model(rows).square().mean()).backward(); amp.step(optimizer); amp.update()")
        plain = self.run_script(line, steps=300)
        tried = self.run_script(line, "--try", "train.py:13", steps=300)
        self.assertEqual(plain.stdout, tried.stdout)
        self.assertNotIn("measured (", tried.stderr)

    def test_a_line_without_a_finding(self):
        done = self.run_script("values.append(loss.item())", "--try", "train.py:99", steps=100)
        self.assertEqual(done.returncode, 0)
        self.assertIn("no finding about waits was at train.py:99", done.stderr)

    def test_a_scaler_is_not_tried(self):
        done = self.run_script("scaler = loss.item()", "--try", "train.py:13", steps=100)
        self.assertIn("train.py:13 is not tried: the value decides whether the optimizer steps", done.stderr)

    def test_a_script_that_ends_meanwhile(self):
        done = self.run_script("values.append(loss.item())", "--try-all", steps=100)
        self.assertEqual(done.returncode, 0)
        self.assertIn("train.py:13 was not tried: the run ended before the try did", done.stderr)
        self.assertEqual(read(self.recording)[0], 100)

    def test_needs_the_waits(self):
        done = self.run_script("pass", "--try-all", "--level", "off", steps=10)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--level off does not record", done.stderr)


if __name__ == "__main__":
    unittest.main()
