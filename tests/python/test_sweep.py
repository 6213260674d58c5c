"""`highwater sweep -- COMMAND`: scripts whose batch size a sweep turns, on the simulated device.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import support
from support import PYTHON
from test_recordings import PROGRAM, environment, exported, read

LIMIT = 300  # seconds

# A model whose memory grows with the batch. `batches(loader)` trains until it is interrupted.
MODEL = """
import sys, torch
from torch import nn
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
def step(rows):
    model(rows.to("mps")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LOADER = MODEL + """
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 10_000_000  # more than a slow machine trains before the sweep is done
    def __getitem__(self, index): return torch.zeros(256)
loader = torch.utils.data.DataLoader(Rows(), batch_size=int(sys.argv[2]) if len(sys.argv) > 2 else 64, drop_last=True{})
print("this is the script's")
for rows in loader: step(rows)
"""
KNOB = MODEL + """
sys.path.insert(0, {sources!r})
import highwater_mps as highwater
{before}
while True:
    {size}
    step(torch.zeros(size, 256))
"""


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Sweeps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.recording = os.path.join(self.folder.name, "sweep.highwater")

    def command(self, source, *arguments, options=(), recommended="64MiB", device="sim", settings=3):
        script = os.path.join(self.folder.name, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source))
        simulated = ["--device", "sim", "--sim-recommended-max", recommended] if device == "sim" else []
        return [PROGRAM, "sweep", *simulated, "--settings", str(settings), "--steps-per-setting", "4", "-o", self.recording,
                *options, "--", PYTHON, "-W", "ignore", script, *arguments]

    def sweep(self, source, *arguments, **more):
        return subprocess.run(self.command(source, *arguments, **more), env=environment(COLUMNS="200"), text=True,
                              capture_output=True, timeout=LIMIT, check=False, cwd=self.folder.name)

    def settings(self, done):
        self.assertTrue(done.stdout.startswith("{"), done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        return [(each["batch"], each["driver_peak"]) for each in answer["settings"]], answer

    def batches_of_steps(self):
        return [batch for batch, in exported(self.recording).execute("SELECT batch_size FROM steps ORDER BY step")]

    def test_loader(self):
        done = self.sweep(LOADER.format(""), "--batch-size", "64", options=["--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        settings, answer = self.settings(done)
        self.assertEqual(settings[0][0], 64)
        self.assertEqual(len(settings), 3)
        self.assertEqual(len({batch for batch, _ in settings}), 3)
        self.assertTrue(answer["recommended"])
        for batch, peak in settings:
            self.assertLessEqual(peak, answer["limit"])
        # What the script prints is not the result's.
        self.assertIn("this is the script's", done.stderr)
        self.assertIn("Highwater: interrupted the program, as Ctrl+C does", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(set(self.batches_of_steps()), {batch for batch, _ in settings})

    def test_tells_the_argument_to_change(self):
        done = self.sweep(LOADER.format(""), "--batch-size", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("train.py trains at batch 64; the sweep turns dataloader_batch_size", done.stdout)
        best = done.stdout.split("Recommended  batch ")[1].split(":")[0]
        self.assertIn(f"train.py --batch-size {best}\n", done.stdout)

    def test_batches_that_workers_have_fetched_come_first(self):
        done = self.sweep(LOADER.format(", num_workers=2, prefetch_factor=3"), options=["--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        settings, _ = self.settings(done)
        self.assertEqual(len(settings), 3, done.stdout + done.stderr)
        steps = self.batches_of_steps()
        for batch, peak in settings:
            self.assertGreaterEqual(steps.count(batch), 8)
            self.assertGreater(peak, 0)

    def test_a_knob_that_counts_the_samples_of_all_batches_of_a_step(self):
        source = KNOB.format(sources=support.SOURCES, before="", size="""
    size = highwater.knob("global_batch", 256, min=4, max=100_000) // 4
    for _ in range(3): model(torch.zeros(size, 256).to("mps")).sum().backward()
""")
        done = self.sweep(source, options=["--batch-knob", "global_batch"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("trains at batch 64; the sweep turns global_batch (train.py:", done.stdout)
        self.assertIn("which is 256 there", done.stdout)
        best = int(done.stdout.split("Recommended  batch ")[1].split(":")[0])
        self.assertIn(f"global_batch = {4 * best} in train.py:", done.stdout)

    def test_a_length(self):
        source = MODEL.replace("nn.Sequential(", "nn.Sequential(nn.Embedding(9, 256), ") + textwrap.dedent(f"""
            sys.path.insert(0, {support.SOURCES!r})
            import highwater_mps as highwater
            while True:
                rows, length = highwater.knob("batch_size", 8, min=1, max=64), highwater.knob("length", 16, min=1)
                step(torch.zeros(rows, length, dtype=torch.long))
            """)
        done = self.sweep(source, options=["--json", "--length-knob", "length", "--lengths", "16,32"], settings=6,
                          recommended="400MiB")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        settings = json.loads(done.stdout)["settings"]
        self.assertEqual({each["length"] for each in settings}, {16, 32})

    def test_without_a_knob(self):
        done = self.sweep(MODEL + "while True: step(torch.zeros(8, 256))")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing sets the script's batch size", done.stderr)
        self.assertIn('highwater.knob("batch_size"', done.stderr)

    def test_a_name_that_is_no_knob(self):
        done = self.sweep(LOADER.format(""), options=["--batch-knob", "size"])
        self.assertEqual(done.returncode, 1)
        self.assertIn('the script has no knob "size"; it has dataloader_batch_size', done.stderr)

    def test_a_knob_that_is_read_once(self):
        source = KNOB.format(sources=support.SOURCES, before="", size="size = now")
        source = source.replace("while True", 'now = highwater.knob("batch_size", 8, min=1, max=512)\nwhile True')
        done = self.sweep(source)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("still have a batch of 8", done.stderr)
        self.assertGreater(read(self.recording)[0], 0)

    def test_a_batch_that_the_script_rejects(self):
        source = KNOB.format(sources=support.SOURCES, before="", size="""
    size = highwater.knob("batch_size", 8, min=1, max=512)
    if size != 8: raise ValueError("only 8")
""")
        done = self.sweep(source)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("was measured", done.stderr)
        self.assertIn("ValueError: only 8", done.stderr)
        self.assertGreater(read(self.recording)[0], 0)

    def test_out_of_memory(self):
        source = KNOB.format(sources=support.SOURCES, before="", size="""
    size = highwater.knob("batch_size", 8, min=1, max=512)
    if size != 8: raise RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)")
""")
        done = self.sweep(source, options=["--json"])
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        settings = json.loads(done.stdout)["settings"]
        self.assertEqual([each["out_of_memory"] for each in settings], [False, True])

    def test_a_script_that_ends(self):
        done = self.sweep(MODEL + "for _ in range(2): step(torch.zeros(8, 256))")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the run ended", done.stderr)

    def test_without_a_device(self):
        done = self.sweep(LOADER.format("").replace('"mps"', '"cpu"'), options=["--max-batch", "128"], device="auto")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the CPU has no device memory", done.stdout)

    def test_interrupted(self):
        with subprocess.Popen(self.command(LOADER.format("")), env=environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.folder.name, start_new_session=True) as process:
            for line in process.stdout:  # the first measured setting
                if line.lstrip().startswith("1 "):
                    break
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn("interrupted: 1 setting was measured", err)
        self.assertGreater(read(self.recording)[0], 0)

    def test_a_script_that_ignores_the_interrupt_is_killed_at_the_second(self):
        source = LOADER.format("").replace("import sys", "import signal, sys").replace(
            "print(", "signal.signal(signal.SIGINT, lambda *_: print('ignored', flush=True))\nprint(")
        with subprocess.Popen(self.command(source), env=environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.folder.name, start_new_session=True) as process:
            for line in process.stderr:
                if "has not ended though it was interrupted" in line:
                    break
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("Recommended", out)


if __name__ == "__main__":
    unittest.main()
