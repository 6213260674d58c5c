"""`highwater run --try`: what a fix gains, measured by leaving out waits in turns, on the simulated device.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import json
import os
import re
import subprocess
import tempfile
import textwrap
import time
import unittest

from support import PYTHON
from test_recordings import PROGRAM, environment, read

LIMIT = 300  # seconds

TRAIN = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows, values = torch.randn(128, 256).to("mps"), []
for step in range({steps}):
    loss = model(rows).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {read}
    time.sleep(0.003)
print("weights", sum(each.abs().sum() for each in model.parameters()).item())
print("values", len(values), len(set(values)))
if values and isinstance(values[0], float):
    print("last", int(values[-1]), "most", int(max(values)))
"""


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Tries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.recording = os.path.join(self.folder.name, "run.highwater")

    def run_script(self, read_line, *options, steps=900):
        script = os.path.join(self.folder.name, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(TRAIN.format(steps=steps, read=read_line)))
        return subprocess.run([PROGRAM, "run", "--record", self.recording, "--force", "--device", "sim", *options, "--",
                               PYTHON, "-W", "ignore", script], env=environment(COLUMNS="200"), text=True,
                              capture_output=True, timeout=LIMIT, check=False, cwd=self.folder.name)

    def gain(self, done, line="train.py:13"):
        """The measured gain in ms a step, or 0 where nothing was seen."""
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(f"without the waits at {re.escape(line)}: "
                          "(?:(.*?) ms a step, measured|nothing that a try|too noisy to tell)", done.stderr)
        self.assertTrue(found, done.stderr)
        return float(found.group(1) or 0)

    def test_a_value_that_is_read_in_each_step(self):
        plain = self.run_script("values.append(loss.item())")
        tried = self.run_script("values.append(loss.item())", "--try-all")
        self.gain(tried)
        # The same training, to the bit; only what was read lags.
        self.assertEqual(plain.stdout.splitlines()[0], tried.stdout.splitlines()[0])
        self.assertIn("values 900 900", plain.stdout)
        count, different = tried.stdout.splitlines()[1].split()[1:]
        self.assertEqual(count, "900")
        self.assertLess(int(different), 870)
        # The finding tells what was measured.
        self.assertRegex(tried.stderr, "fixing it saves .* a step")
        report = subprocess.run([PROGRAM, "report", self.recording], env=environment(COLUMNS="200"), text=True,
                                capture_output=True, check=True).stdout
        self.assertIn("tried in steps", report)
        self.assertRegex(report, "the estimate was|too noisy to tell")

    def test_copies_and_conditions_of_a_line(self):
        """And a note of the script that says what Highwater's own notes say, which ends no try."""
        line = ("import highwater_mps as highwater; values.append((tuple(rows[0, :4].tolist()), bool(loss > 1e9), "
                "loss.detach().cpu().sum().item())); "
                "highwater.mark('Highwater tries no more') if step % 50 == 0 else None")
        done = self.run_script(line, "--try", "train.py:13")
        self.gain(done)
        self.assertIn("weights", done.stdout)

    def test_a_call_that_waits(self):
        self.gain(self.run_script("torch.mps.synchronize()", "--try", "train.py:13"))

    def test_an_emptied_cache(self):
        """Left out where there is room for a cache, and never where memory is short."""
        self.gain(self.run_script("torch.mps.empty_cache()", "--try", "train.py:13"))
        done = self.run_script("torch.empty(9_000_000, device='mps'); torch.mps.empty_cache()", "--try", "train.py:13",
                               "--sim-recommended-max", "64MiB", steps=100)
        self.assertIn("train.py:13 is not tried: without it memory could run out", done.stderr)

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
        self.assertIn("no wait was seen at train.py:99", done.stderr)

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

    def test_a_knob(self):
        """Work that one value leaves out. The knob has its own value afterwards."""
        line = ("import highwater_mps as highwater; every = highwater.knob('every', 1, min=1, max=100); "
                "model(rows.repeat(8, 1)).sum().item() if step % every == 0 else None; values.append(every)")
        done = self.run_script(line, "--try", "every=100", "--try", "every=1", "--try", "none=2", "--try", "batch_size=64",
                               steps=1200)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"with every = 100: (.*) ms a step, measured .* a step as it was, .* with it", done.stderr)
        self.assertTrue(found, done.stderr)
        self.assertIn("every=1 is not tried: every is 1 already", done.stderr)
        self.assertIn('none=2 is not tried: the script has no knob "none"', done.stderr)
        self.assertIn("batch_size=64 is not tried: batch_size changes what a step needs of memory", done.stderr)
        self.assertIn("values 1200 2", done.stdout)
        report = subprocess.run([PROGRAM, "report", "--json", self.recording], text=True, capture_output=True, check=True)
        tried, = json.loads(report.stdout)["tried"]
        self.assertEqual((tried["knob"], tried["value"]), ("every", "100"))
        self.assertGreater(tried["gain_ms"]["estimate"], 0)

    def test_a_knob_of_a_workload(self):
        """The loss interval of the sample, whose loss is read in each step."""
        done = subprocess.run([PROGRAM, "record", "-o", self.recording, "--device", "sim", "--steps", "400", "--batch", "4",
                               "--seq", "16", "--loss-every", "1", "--try", "loss-every=20"],
                              env=environment(COLUMNS="200"), text=True, capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "with loss-every = 20: (.* ms a step, measured|nothing that a try|too noisy to tell)")

    def test_a_knob_that_a_workload_has_not(self):
        for text, why in (("accumulate=0", "accumulate"), ("speed=1", "loss-every, accumulate, precision"),
                          ("batch=64", "highwater sweep"), ("lr=1", "loss-every, accumulate, precision")):
            done = subprocess.run([PROGRAM, "record", "-o", self.recording, "--try", text], env=environment(), text=True,
                                  capture_output=True, timeout=LIMIT, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_host_that_is_killed_meanwhile(self):
        """The script trains on, and its knob has its own value."""
        line = ("import highwater_mps as highwater; every = highwater.knob('every', 1, min=1, max=100); "
                "print(every, flush=True) if step > 60 else None; values.append(every + 0.5)")
        script = os.path.join(self.folder.name, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(TRAIN.format(steps=700, read=line)))
        printed = os.path.join(self.folder.name, "printed")
        with open(printed, "wb") as out:
            host = subprocess.Popen([PROGRAM, "run", "--record", self.recording, "--device", "sim", "--try", "every=9", "--",
                                     PYTHON, "-W", "ignore", script], env=environment(), stdout=out,
                                    stderr=subprocess.DEVNULL, cwd=self.folder.name)

        def text():
            with open(printed, encoding="utf-8") as file:
                return file.read()

        def wait_for(condition):
            until = time.monotonic() + LIMIT
            while not condition():
                self.assertLess(time.monotonic(), until, text()[-200:])
                time.sleep(0.02)

        wait_for(lambda: text().rstrip().endswith("\n9"))
        host.kill()
        host.wait()
        wait_for(lambda: "last" in text())
        self.assertIn("last 1 most 9", text())

    def test_a_default_that_varies(self):
        """A knob that nobody has turned has the script's own value afterwards, whatever that is then; of one that is read
        only once nothing is measured."""
        line = ("import highwater_mps as highwater; every = highwater.knob('every', 1 if step < 50 else 3, min=1, max=100); "
                "step == 0 and highwater.knob('width', 1); values.append(every + step / 10000)")
        done = self.run_script(line, "--try", "every=9", "--try", "width=2", steps=3000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "with every = 9: (.* ms a step, measured|nothing that a try|too noisy to tell)")
        self.assertIn("width = 2 was not tried: the script has not taken the value within a block", done.stderr)
        self.assertIn("last 3", done.stdout)
        self.assertIn("most 9", done.stdout)


if __name__ == "__main__":
    unittest.main()
