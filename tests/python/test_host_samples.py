"""Host samples: which lines a script's training runs, as a recording has them.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import collections
import sys
import textwrap
import unittest

from support import PYTHON
from test_recordings import TRAIN, Recording, exported

HZ = 200  # the most: short scripts have many samples then
PREPARE = """
import json, os, sys, threading, time, torch
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = torch.nn.Linear(64, 64).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
batch = torch.ones(16, 64, device=device)
def step():
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss
"""


class HostSamples(Recording):
    def run_script(self, text, *options, hz=HZ, prepare=PREPARE, code=0):
        """Records a script; the samples are then in self.samples, as (line, text of the line, phase, step)."""
        self.script = prepare + textwrap.dedent(text)
        path = self.write("train.py", self.script)
        done = self.record_forked([PYTHON, path], options, HIGHWATER_HOST_SAMPLES=str(hz))
        self.assertEqual(done.code, code, done.err)
        tables = exported(self.path)
        self.samples = tables.execute("SELECT ifnull(call_site, ''), ifnull(text, ''), phase, step FROM host_samples "
                                      "ORDER BY time_ms").fetchall()
        self.waited_ms, = tables.execute("SELECT total(duration_ms) FROM sync_points").fetchone()
        return done

    def count(self, part):
        """How many samples are in the line of the script with this comment."""
        number, text = next((number, line) for number, line in enumerate(self.script.splitlines(), 1) if part in line)
        found = [row for row in self.samples if row[0].startswith(f"train.py:{number} ")]
        self.assertLessEqual({row[1] for row in found}, {text.strip()})
        return len(found)

    def check_waits_have_no_samples(self):
        """The script may lose its core beside a wait, at most a few times: then the line has a sample for each 5 ms."""
        moments = HZ * self.waited_ms / 1000
        self.assertGreater(moments, 50)  # else it shows nothing
        self.assertLess(self.count("# waits"), 0.1 * moments)

    @unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
    def test_names_the_work_and_no_wait(self):
        self.run_script("""
            history = [float(i) / 7 for i in range(60_000)]
            for _ in range(20):
                loss = step()
                loss.item()  # waits
                json.dumps(history)  # works
                torch.mps.synchronize()  # has nothing to wait for
            """, "--device", "sim", "--sim-launch-delay", "4ms")
        work = self.count("# works")
        self.assertGreater(work, 20)
        self.assertGreater(work, 0.5 * len(self.samples))
        self.check_waits_have_no_samples()
        self.assertIn("in json/encoder.py", max(collections.Counter(row[0] for row in self.samples).items(),
                                                key=lambda item: item[1])[0])

    @unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
    def test_what_is_made_for_a_copy_has_its_line(self):
        self.run_script("""
            table = torch.randn(200_000, 64)
            rows = torch.randint(0, 200_000, (60_000,))
            step().item()
            for _ in range(20):
                batch = table[rows].to(device)[:16]  # gathers
                step()
            """, "--device", "sim")
        self.assertGreater(self.count("# gathers"), len(self.samples) / 3)

    @unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
    def test_a_script_that_only_waits(self):
        self.run_script("""
            for _ in range(40):
                step().item()  # waits
            """, "--device", "sim", "--sim-launch-delay", "2ms")
        self.check_waits_have_no_samples()

    def test_a_long_call_has_a_sample_for_each_moment(self):
        """They are taken at its end, each with its own time."""
        self.run_script("""
            step()
            for _ in range(2):
                step()
                time.sleep(1)  # stands still
            """, hz=50)
        self.assertGreater(self.count("# stands still"), 50)

    def test_what_a_function_took_is_not_that_of_the_next(self):
        """Python looks for interruptions where a function begins: what took the time came before."""
        self.run_script("""
            def little(): return 1  # begins
            large = torch.ones(1400, 1400)
            step()
            for _ in range(10):
                step()
                product = large @ large; little()  # multiplies
            """)
        self.assertGreater(self.count("# multiplies"), self.count("# begins"))

    def test_the_default_none_and_what_is_wrong(self):
        body = """
            step(); step()
            time.sleep(0.5)
            step()
            """
        self.assertNotIn("HIGHWATER_HOST_SAMPLES", self.run_script(body, hz="").err)
        self.assertGreater(len(self.samples), 5)
        self.assertNotIn("HIGHWATER_HOST_SAMPLES", self.run_script(body, "--force", hz=0).err)
        self.assertEqual(self.samples, [])
        for wrong in ("2.5", "201"):
            with self.subTest(wrong):
                done = self.run_script(body, "--force", hz=wrong)
                self.assertIn(f"HIGHWATER_HOST_SAMPLES={wrong} is ignored: it takes a whole number", done.err)
                self.assertGreater(len(self.samples), 5)

    def test_a_training_in_a_thread(self):
        """Only the main thread can be sampled: there are none, and all else is recorded."""
        done = self.run_script("""
            def train():
                for _ in range(5): step(); time.sleep(0.05)
            thread = threading.Thread(target=train)
            thread.start()
            while thread.is_alive(): time.sleep(0.01)
            """)
        self.assertGreaterEqual(done.steps, 4)
        self.assertEqual(self.samples, [])

    def test_level_off_has_none(self):
        self.run_script("train(1)\ntime.sleep(0.5)\ntrain(1)\n", "--level", "off", prepare=TRAIN)
        self.assertEqual(self.samples, [])


if __name__ == "__main__":
    unittest.main()
