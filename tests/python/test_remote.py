"""`highwater run --on HOST`: the training on another machine, which is a folder here, through a stand-in for ssh.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import glob
import json
import os
import random
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

from support import PYTHON
from test_recordings import PROGRAM, environment

LIMIT = 240  # seconds
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ssh_stand_in.py")

TRAIN = """
import os, sys, time, torch, highwater
model = torch.nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
every = 1
for step in range({steps}):
    loss = model(torch.randn(32, 64).to("mps")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    every = highwater.knob("every", 1, min=1, max=9)
    if step % 5 == 0:
        loss.item()
    time.sleep(0.004)
    if step == 3:
        print("it trains", flush=True)
print("every", every)
with open("finished", "w") as file:
    file.write(str(step + 1))
"""


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Remote(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here, self.there = os.path.join(folder.name, "here"), os.path.join(folder.name, "there")
        self.project = os.path.join(self.there, "my project")
        for each in (self.here, self.project):
            os.makedirs(each)
        self.recording = os.path.join(self.here, "run.highwater")
        self.data = os.path.join(self.there, "data")

    def start(self, *options, steps=60, host="studio:my project", script=TRAIN, **more):
        if script:
            with open(os.path.join(self.project, "train.py"), "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(script.format(steps=steps)))
        variables = environment(**{
            "COLUMNS": "1000", "HIGHWATER_SSH": f"{PYTHON} -E '{STAND_IN}'", "HIGHWATER_REMOTE_PROGRAM": PROGRAM,
            "XDG_DATA_HOME": self.data, "STAND_IN_HOME": self.there, **more})
        return subprocess.Popen(
            [PROGRAM, "run", "--record", self.recording, "--on", host, "--device", "sim", *options, "--", PYTHON, "-W",
             "ignore", "train.py"], env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.here)

    def finish(self, process):
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(out, "")
        return process.returncode, err

    def run_there(self, *options, **more):
        return self.finish(self.start(*options, **more))

    def all_there(self):
        return glob.glob(os.path.join(self.data, "**", "*.highwater*"), recursive=True)

    def recorded_there(self):
        found = [path for path in self.all_there() if path.endswith(".highwater")]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def report(self, path):
        done = subprocess.run([PROGRAM, "report", "--json", path], env=environment(), text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def ended_there(self):
        end = self.report(self.recorded_there())["end"]
        return end and end["reason"]

    def wait_for(self, condition):
        until = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_a_training_there_is_seen_as_one_here(self):
        code, err = self.run_there()
        self.assertEqual(code, 0, err)
        self.assertIn("it trains", err)
        self.assertIn("There      studio:" + self.recorded_there(), err)
        self.assertEqual(self.report(self.recording), self.report(self.recorded_there()))
        self.assertEqual(self.report(self.recording)["steps"], 60)
        self.assertTrue(os.path.exists(os.path.join(self.project, "finished")))

    def test_a_banner_is_skipped(self):
        banner = "Welcome to studio!\n\x1b[31m" + "x" * 5000 + "\nno end of line: "
        code, err = self.run_there(STAND_IN_BANNER=banner, steps=10)
        self.assertEqual(code, 0, err)

    def test_a_slow_connection(self):
        """200 ms and 100 kB a second, with all ops recorded: ops may be lost on the way, and are counted; nothing else
        is, and nothing there."""
        code, err = self.run_there("--level", "ops", STAND_IN_DELAY="0.2", STAND_IN_SPEED="100000", steps=300)
        self.assertEqual(code, 0, err)
        here, there = self.report(self.recording), self.report(self.recorded_there())
        self.assertEqual(here["steps"], there["steps"])
        self.assertEqual(here["sync_points"], there["sync_points"])

    def test_a_knob_is_turned_from_here(self):
        code, err = self.run_there("--try", "every=9", steps=1500, STAND_IN_DELAY="0.05")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "with every = 9: (.* ms a step, measured|nothing that a try|too noisy to tell)")

    def test_the_exit_code_is_the_programs(self):
        code, err = self.run_there(script=TRAIN + "\nsys.exit(7)\n", steps=5)
        self.assertEqual(code, 7, err)
        code, err = self.run_there("--force", script=TRAIN + "\nos.kill(os.getpid(), 9)\n", steps=5)
        self.assertEqual(code, 137, err)
        self.assertIn("was killed by signal 9", err)

    def test_what_does_not_start(self):
        for more, text, exit_code in (
                ({"host": "nowhere"}, "nowhere could not be reached", 1),
                ({"host": "studio:no such folder"}, "studio has no such folder", 1),
                ({"HIGHWATER_REMOTE_PROGRAM": "no-highwater"}, "Highwater was not found on studio", 1),
                ({"HIGHWATER_REMOTE_PROGRAM": "echo"}, "studio could not be reached, or has no Highwater there", 1),
                ({"HIGHWATER_SSH": "no-such-ssh"}, "there is no program no-such-ssh; HIGHWATER_SSH", 2),
                ({"host": "ssh://studio/project"}, "--on", 2),
                ({"HIGHWATER_SSH": "ssh '"}, "HIGHWATER_SSH is no command", 2),
                ({"STAND_IN_BANNER": "highwater-stdio 0.0.0\n"}, "studio has Highwater 0.0.0", 1),
                ({"host": "asks", "HIGHWATER_START_TIMEOUT_MS": "1000"}, "asks did not answer in time", 1),
                ({"STAND_IN_BANNER": "x" * 100_000}, "studio prints too much", 1),
                ({"host": "-oProxyCommand=x"}, "--on", 2), ({"host": ":folder"}, "--on", 2)):
            with self.subTest(more):
                code, err = self.run_there("--force", steps=5, **more)
                self.assertIn(text, err)
                self.assertEqual(code, exit_code, err)
                self.assertFalse(os.path.exists(self.recording))

    def test_a_program_that_does_not_train(self):
        """It leaves no recording on either machine."""
        for script, exit_code, text in (("", 2, "on studio: there is no file train.py"),
                                        ("print('no training')\n", 0, "did not import torch"),
                                        ("import nothing_of_this_name\n", 1, "No module named")):
            code, err = self.run_there(script=script)
            self.assertEqual(code, exit_code, err)
            self.assertIn(text, err)
            self.assertNotIn("the connection to", err)
            self.assertFalse(os.path.exists(self.recording))
            self.assertEqual(self.all_there(), [])

    def test_an_interrupt_reaches_the_program(self):
        process = self.start(steps=100_000)
        self.wait_for(lambda: process.poll() is not None
                      or os.path.exists(self.recording) and os.path.getsize(self.recording) > 100_000)
        process.send_signal(signal.SIGINT)
        code, err = self.finish(process)
        self.assertNotEqual(code, 0)
        self.assertIn("interrupted", err)
        self.assertEqual(self.report(self.recording)["end"], self.report(self.recorded_there())["end"])

    def start_and_wait(self, size, **more):
        """Starts a training, and returns once its recording there has so many bytes, with the id of the stand-in."""
        file = os.path.join(self.here, "pid")
        process = self.start("--force", STAND_IN_PID=file, **more)

        def has_begun():
            self.assertIsNone(process.poll())
            return sum(map(os.path.getsize, self.all_there())) > size

        self.wait_for(has_begun)
        with open(file, encoding="utf-8") as text:
            return process, int(text.read())

    def test_a_connection_that_breaks(self):
        """The training goes on there and is recorded to its end, wherever the connection breaks."""
        moments, finished = random.Random(5), os.path.join(self.project, "finished")
        for attempt in range(int(os.environ.get("HIGHWATER_BREAKS", "3"))):
            with self.subTest(attempt):
                for path in self.all_there():
                    os.remove(path)
                process, connection = self.start_and_wait(moments.uniform(0, 400_000), steps=600)
                os.kill(connection, signal.SIGKILL)
                code, err = self.finish(process)
                self.assertIn("the connection to studio ended", err)
                if "before it said whether it has started" in err:
                    self.assertEqual(code, 1, err)
                else:
                    self.assertEqual(code, 3, err)
                    self.assertIn(f"scp 'studio:{self.recorded_there()}*'", err)
                self.wait_for(lambda: os.path.exists(finished))
                self.wait_for(lambda: self.ended_there() == "finished")
                self.assertEqual(self.report(self.recorded_there())["steps"], 600)
                os.remove(finished)

    def test_a_far_end_that_is_killed(self):
        """The connection is there, and nothing comes: this end says so and ends."""
        process, _ = self.start_and_wait(100_000, steps=1200, HIGHWATER_HANG_TIMEOUT_MS="500")
        far = subprocess.run(["pgrep", "-f", f"run --stdio.*{PYTHON}"], text=True, capture_output=True, check=True)
        own = []
        for each in far.stdout.split():
            with open(f"/proc/{each}/environ", "rb") as variables:
                own += [int(each)] if os.fsencode(self.data) in variables.read() else []
        os.kill(min(own), signal.SIGKILL)  # not what copies the program's output, which it has started
        code, err = self.finish(process)
        self.assertNotEqual(code, 0)
        self.assertIn("the connection to studio ended", err)
        self.wait_for(lambda: os.path.exists(os.path.join(self.project, "finished")))

    def test_stdio_is_for_programs(self):
        done = subprocess.run([PROGRAM, "run", "--stdio", "--", PYTHON, "-c", "pass"], env=environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("highwater-stdio "))
        self.assertIn("did not say that the program shall start", done.stderr)


if __name__ == "__main__":
    unittest.main()
