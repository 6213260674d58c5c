"""Programs recorded by `highwater run` with the real probe: launchers, ways to end, notebooks.

Needs HIGHWATER_BIN, the folder of the program `highwater`. Tests of packages that are not installed are skipped.
"""
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from typing import NamedTuple

import support
from support import PYTHON, SCRIPTS, script

PROGRAM = os.path.join(os.environ.get("HIGHWATER_BIN", ""), "highwater")
LIMIT = 300  # seconds

TRAIN = support.TRAIN + "train(3)\n"


class Recorded(NamedTuple):
    code: int
    out: str
    err: str
    steps: int
    facts: dict


def environment(**more):
    return support.base_environment(**{"PYTHONPATH": "", "QT_QPA_PLATFORM": "offscreen", **more})


def exported(path):
    """The tables of a recording, for SQL; None where there is none, or nothing of it can be read."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.sqlite")
        subprocess.run([PROGRAM, "export", path, "--to", file], env=environment(), capture_output=True, timeout=LIMIT,
                       check=False)
        if not os.path.exists(file):
            return None
        tables = sqlite3.connect(":memory:")
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.backup(tables)
        return tables


def read(path):
    """The number of steps and the table of facts of a recording; (0, {}) where there is none."""
    tables = exported(path)
    if not tables:
        return 0, {}
    return tables.execute("SELECT count(*) FROM steps").fetchone()[0], dict(tables.execute("SELECT key, value FROM run"))


def installed(*names):
    missing = [name for name in names if not importlib.util.find_spec(name)]
    return unittest.skipIf(missing, f"{' and '.join(missing)}: not installed for {sys.executable}")


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "run.highwater")

    def command(self, command, options=()):
        return [PROGRAM, "run", "--record", self.path, *options, "--", *command]

    def record(self, command, options=(), **variables):
        done = subprocess.run(self.command(command, options), env=environment(TMPDIR=self.folder, **variables),
                              cwd=SCRIPTS, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              check=False)
        return Recorded(done.returncode, done.stdout, done.stderr, *read(self.path))

    def record_forked(self, command, options=(), **variables):
        """The same of a command of `python` that needs no process of its own, in two seconds less."""
        if support.forked is support.in_own_process:
            return self.record(command, options, **variables)
        done = self.run_forked(command, options, environment(TMPDIR=self.folder, **variables))
        return Recorded(done.returncode, done.stdout, done.stderr, *read(self.path))

    def run_forked(self, command, options, variables, folder=SCRIPTS):
        """Records such a command. What Highwater says is at the end of its stderr."""
        def start(program):
            return subprocess.Popen(self.command(program, options), env=variables, cwd=folder, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done, said = support.forked_below(start, command, folder, LIMIT)
        return done._replace(stderr=done.stderr + said)

    def report(self):
        """What `highwater report` says, in one line."""
        done = subprocess.run([PROGRAM, "report", self.path], env=environment(), capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        return " ".join(done.stdout.split())

    def start(self, text):
        """Begins to record a script, which prints a line when it is ready."""
        process = subprocess.Popen(self.command([PYTHON, "-c", TRAIN + text]), env=environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   process_group=0)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class WithoutDisplay(Recording):
    """`highwater run` without a name, as by ssh."""

    def run_without(self, text, *options):
        variables = environment(XDG_DATA_HOME=self.folder, TMPDIR=self.folder, COLUMNS="80")
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
            variables.pop(name, None)
        path = self.write("my train.py", TRAIN + text)
        done = subprocess.run([PROGRAM, "run", *options, "--", PYTHON, path], env=variables, capture_output=True,
                              text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)
        recordings = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names
                      if name.endswith(".highwater")]
        return done, recordings

    def test_is_recorded_and_tells_its_result(self):
        done, recordings = self.run_without("train(20)\nprint('its own output')\nsys.exit(7)\n")
        self.assertEqual((done.returncode, done.stdout), (7, "its own output\n"), done.stderr)
        self.assertEqual(len(recordings), 1, done.stderr)
        self.assertEqual(os.path.basename(os.path.dirname(recordings[0])), "recordings")
        self.assertEqual(read(recordings[0])[0], 23)
        self.assertIn(f"highwater: recording to {recordings[0]}\n", done.stderr)
        result = done.stderr[done.stderr.index("\n\n") + 2:]
        for part in ("Run  ", "Time  ", "Steps  ", f"More       highwater report '{recordings[0]}'"):
            self.assertIn(part, result)
        self.assertLessEqual(result.count("\n"), 24, result)
        shown = subprocess.run(["sh", "-c", result.split("More       ")[1].splitlines()[0]], capture_output=True, text=True,
                               env=environment(PATH=f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}"), check=False)
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_quiet_tells_nothing(self):
        done, recordings = self.run_without("", "--quiet")
        self.assertEqual((done.returncode, len(recordings)), (0, 1))
        self.assertEqual(done.stderr, f"highwater: recording to {recordings[0]}\n")

    def test_a_window_can_be_insisted_on(self):
        done, recordings = self.run_without("", "--window")
        self.assertEqual((done.returncode, recordings), (1, []))
        self.assertIn("there is no display", done.stderr)


class FullDisk(Recording):
    def test_is_said_while_the_script_trains(self):
        said = os.path.join(self.folder, "said")
        text = TRAIN + f"import os\nwhile not os.path.exists({said!r}): train(5)\nprint('done')\n"
        limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *self.command([PYTHON, "-c", text])]
        process = subprocess.Popen(limited, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "what comes is not recorded" in line:
                open(said, "w", encoding="utf-8").close()
        self.assertTrue(os.path.exists(said), lines)
        self.assertIn("which lacks the end of the run", "".join(lines))
        self.assertEqual((process.wait(LIMIT), process.stdout.read()), (0, "done\n"))


class Launchers(Recording):
    expected = None

    def check(self, command, **variables):
        if Launchers.expected is None:
            Launchers.expected = support.run(script("plain_loop"), False, how=support.forked).out
        done = self.record(command, **variables)
        self.assertEqual((done.code, done.steps), (0, 6), done.err)
        self.assertIn(self.expected, done.out)
        self.assertNotIn("Highwater:", done.err)
        return done

    def test_module_in_a_shell_script(self):
        with open(os.path.join(SCRIPTS, "plain_loop.py"), encoding="utf-8") as file:
            self.write("pkg/__main__.py", file.read())
        path = self.write("train.sh", f"#!/bin/sh\necho begin\n'{PYTHON}' -m pkg\n")
        os.chmod(path, 0o755)
        done = self.check([path], PYTHONPATH=self.folder)
        self.assertEqual(done.facts["workload"], "-m pkg")

    def test_python_m_highwater(self):
        self.check([PYTHON, "-m", "highwater_mps", "plain_loop.py"], PYTHONPATH=support.SOURCES)

    def test_torchrun(self):
        """One of the two processes is watched; the other says so."""
        done = self.record([PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "2", "plain_loop.py"])
        self.assertEqual((done.code, done.steps), (0, 6), done.err)
        self.assertEqual(done.err.count("this one trains on without"), 1, done.err)
        self.assertEqual(done.facts["workload"], "plain_loop.py")

    @installed("accelerate")
    def test_accelerate(self):
        self.check([PYTHON, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "plain_loop.py"],
                   HF_HOME=self.folder)

    @unittest.skipUnless(shutil.which("uv", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"),
                         "uv is not installed")
    def test_uv_run(self):
        uv = shutil.which("uv", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
        self.check([uv, "run", "--no-project", "--offline", "--python", PYTHON, "plain_loop.py"],
                   UV_CACHE_DIR=os.path.join(self.folder, "uv"))

    def test_children_that_train(self):
        path = self.write("parent.py", textwrap.dedent(f"""
            import multiprocessing, torch
            def work():
                {textwrap.indent(TRAIN, ' ' * 16).strip()}
            if __name__ == "__main__":
                torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
                child = multiprocessing.get_context("spawn").Process(target=work)
                child.start(); child.join()
                print(child.exitcode)
            """))
        done = self.record([PYTHON, path])
        self.assertEqual((done.code, done.out, done.steps), (0, "0\n", 3), done.err)

    def test_loader_workers(self):
        path = self.write("loader.py", TRAIN.replace("\ntrain(3)\n", "\n") + textwrap.dedent("""
            from torch.utils.data import DataLoader
            loader = DataLoader(range(8), 2, num_workers=2, multiprocessing_context="fork", persistent_workers=True)
            for _ in loader: train(1)
            print("end")  # the workers live on
            """))
        done = self.record([PYTHON, path])
        self.assertEqual((done.code, done.out, done.steps), (0, "end\n", 4), done.err)


class Compiled(Recording):
    def test_compiled_model(self):
        """The script prints the numbers of graphs, of breaks and of compiled frames."""
        plain = support.run(script("compiled"), False, how=support.forked)
        done = self.record(script("compiled"))
        self.assertEqual((done.code, done.out, done.steps), (0, plain.out, 4), done.err)


class Ends(Recording):
    def check(self, ending, code, steps=3):
        done = self.record([PYTHON, "-c", TRAIN + ending])
        self.assertEqual((done.code, done.steps), (code, steps), done.err)
        return done

    def test_exit_without_cleaning_up(self):
        """os._exit() has the last steps sent."""
        done = self.check("train(5)\nos._exit(4)", 4, steps=8)
        self.assertEqual(done.facts["ended"], "exited", done.facts)

    def test_killed(self):
        """The last step is missing: it lasts until the next begins."""
        process, pid = self.start("print(os.getpid(), flush=True)\ntime.sleep(600)")
        deadline = time.monotonic() + LIMIT
        while read(self.path)[0] < 2:
            self.assertLess(time.monotonic(), deadline, "the steps are not recorded")
            time.sleep(0.05)
        os.kill(int(pid), signal.SIGKILL)
        _, err = process.communicate(timeout=LIMIT)
        steps, facts = read(self.path)
        self.assertEqual((process.returncode, steps, facts["ended"]), (-signal.SIGKILL, 2, "crashed"), err)
        self.assertIn("was killed by signal 9 (SIGKILL)", self.report())

    def test_exit_codes(self):
        """A script says goodbye also where it gives up, and its child has a code of its own."""
        done = self.check("if not os.fork():\n    train(2)\n    sys.exit(5)\n"
                          "print(os.waitstatus_to_exitcode(os.wait()[1]))\ntrain(1)\nsys.exit(7)", 7, steps=4)
        self.assertEqual(done.out, "5\n")
        self.assertEqual(done.err.count("this one trains on without"), 1, done.err)
        self.assertEqual(done.facts["ended"], "exited", done.facts)
        self.assertIn("ended with exit code 7 after 4 steps", self.report())

    def test_interrupt(self):
        process, _ = self.start("print('ready', flush=True)\nwhile True: train(1)")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", err)
        steps, facts = read(self.path)
        self.assertGreaterEqual(steps, 3)
        self.assertEqual(facts["ended"], "stopped")

    def test_a_host_that_does_not_read(self):
        """It is stopped before the script trains on and ends, which the script does as without."""
        process, pid = self.start("print(os.getpid(), flush=True)\n"
                                  "os.kill(os.getppid(), signal.SIGSTOP)\ntrain(3000)\n")
        deadline = time.monotonic() + LIMIT
        while not self.state_of(pid).startswith("Z"):
            self.assertLess(time.monotonic(), deadline, "the script did not end")
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGCONT)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0)

    @staticmethod
    def state_of(pid):
        return subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True,
                              check=False).stdout.strip()


# Runs a script on the simulated device, without Highwater.
ON_THE_SIMULATED_DEVICE = """
import runpy, sys, torch
torch.ops.load_library(sys.argv[1])
torch._C._has_mps = True
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SIMULATED = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "lib", "libhighwater_simmps.so")


TRAIN_AND_EVALUATE = """
import torch
model = torch.nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.01)
rows = torch.ones(16, 64, device="mps")
for step in range(4):
    model(rows).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 1:
        before = torch.mps.current_allocated_memory()
        with torch.no_grad():
            model(rows)
            # The metric: both are gone before the next reading of a timer is due.
            score = (torch.ones(2**22, device="mps") + 1).mean()
        score.item()
print(before)
"""


READ_AFTER_EVALUATING = """
import torch
model = torch.nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
rows = torch.ones(16, 64, device="mps")
for step in range(1, 7):
    model.train()
    loss = model(rows).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 5:
        print(step, loss.item())
    if step % 2 == 0:
        model.eval()
        with torch.no_grad():
            score = model(rows).mean().item()
        if step != 2:
            print(step, loss.item())
"""


LIMITED = """
import torch
torch.mps.set_per_process_memory_fraction({first})
model = torch.nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(12):
    if step == 6:
        torch.mps.set_per_process_memory_fraction({later})
    loss = model(torch.ones(8, 64, device="mps")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
try:
    torch.mps.set_per_process_memory_fraction(7.0)
except ValueError:
    print(int(torch.mps.recommended_max_memory() * {later}))
"""


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class OnTheSimulatedDevice(Recording):
    """Trainers of libraries, whose waits are known: same losses to the bit, same output, same exit code."""

    def check(self, name, steps):
        plain = subprocess.run([PYTHON, "-c", ON_THE_SIMULATED_DEVICE, SIMULATED, f"{name}.py", "mps"], cwd=SCRIPTS,
                               env=environment(PYTORCH_ENABLE_MPS_FALLBACK="1"), capture_output=True, text=True,
                               timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)
        done = self.record([PYTHON, f"{name}.py", "mps"], ["--device", "sim"], PYTORCH_ENABLE_MPS_FALLBACK="1")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((done.code, done.out), (0, plain.stdout), done.err)
        self.assertEqual(done.steps, steps, done.err)
        return done

    def waits(self, text, line=""):
        """(deliberate, number) of the waits whose call site is in the script, at the line that has `line`."""
        with open(os.path.join(SCRIPTS, text), encoding="utf-8") as file:
            number = next((i for i, each in enumerate(file, 1) if line in each), 0)
        return dict(exported(self.path).execute("SELECT deliberate, count(*) FROM sync_points WHERE call_site LIKE ? "
                                                "GROUP BY deliberate", [f"%{text}:{number} %"]))

    def test_the_peak_of_an_evaluation(self):
        """16 MiB and 16 more are in use for a moment only, beside the model and what the steps need."""
        done = self.record([PYTHON, self.write("train.py", TRAIN_AND_EVALUATE)], ["--device", "sim"])
        self.assertEqual((done.code, done.steps), (0, 4), done.err)
        said = subprocess.run([PROGRAM, "report", "--json", self.path], env=environment(), capture_output=True,
                              text=True, timeout=LIMIT, check=True).stdout
        peaks = {each["region"]: each["current"]["peak"] for each in json.loads(said)["memory_regions"]}
        before = int(done.out)
        self.assertGreaterEqual(peaks["evaluations"], before + 2**25)
        self.assertLess(peaks["evaluations"], before + 2**25 + 2**20)
        self.assertLess(peaks["steps"], before + 2**20)

    def test_a_loss_that_is_read_after_an_evaluation(self):
        """It is the loss of the step before, also of the last one; and no validation's."""
        done = self.record([PYTHON, self.write("train.py", READ_AFTER_EVALUATING)], ["--device", "sim"])
        self.assertEqual((done.code, done.steps), (0, 6), done.err)
        printed = {int(step): float(loss) for step, loss in (line.split() for line in done.out.splitlines())}
        recorded = dict(exported(self.path).execute("SELECT step, loss FROM steps WHERE loss IS NOT NULL"))
        self.assertEqual(sorted(printed), [4, 5, 6])
        self.assertEqual(sorted(recorded), sorted(printed))
        for step, loss in printed.items():
            self.assertAlmostEqual(recorded[step], loss, delta=1e-6 * abs(loss))

    def test_a_torch_that_the_device_is_not_built_for(self):
        """The script does not train on without the device that was asked for."""
        import torch
        copy = os.path.join(self.folder, "torch")
        subprocess.run(["cp", "-rs", os.path.dirname(torch.__file__), copy], check=True)
        version = os.path.join(copy, "version.py")
        with open(version) as file:
            text = file.read()
        os.remove(version)
        with open(version, "w") as file:
            file.write(text.replace(torch.__version__, "9.9.0"))
        run = self.record([PYTHON, "-c", "import torch; print('went on')"], ["--device", "sim"], PYTHONPATH=self.folder)
        self.assertEqual((run.code, run.out), (2, ""), run.err)
        self.assertIn("could not be watched: there is no simulated mps device: ", run.err)
        self.assertIn("cannot run in libtorch 9.9.0", run.err)

    def test_the_limit_that_a_script_sets_itself(self):
        """Before its training, or in it; what PyTorch refuses is none."""
        for first, later in (("0.02", "0.02"), ("0.5", "0.02")):
            text = LIMITED.format(first=first, later=later)
            done = self.record([PYTHON, self.write("train.py", text)], ["--device", "sim", "--force"])
            self.assertEqual((done.code, done.steps), (0, 12), done.err)
            said = subprocess.run([PROGRAM, "report", self.path], env=environment(COLUMNS="400"), capture_output=True,
                                  text=True, timeout=LIMIT, check=True).stdout
            self.assertIn(f"limit {int(done.out) / 2**20:.1f} MiB, the high watermark)", said)

    @installed("lightning")
    def test_lightning(self):
        self.check("lightning_fit", 12)
        self.assertEqual(self.waits("lightning_fit.py", 'print("train"'), {0: 12})
        self.assertEqual(self.waits("lightning_fit.py", 'print("valid"'), {1: 2 + 2 * 3})

    @installed("transformers", "accelerate")
    def test_hugging_face(self):
        self.check("hf_trainer", 8)
        waits = self.waits("hf_trainer.py", "trainer.train()")
        self.assertGreaterEqual(waits[0], 8)  # the loss of each step is logged
        self.assertGreaterEqual(waits[1], 2 * 2)  # each evaluation reads its losses


RUN_NOTEBOOK = """
import asyncio, nbclient, nbformat, sys
cells = [nbformat.v4.new_code_cell(text) for text in sys.argv[1:]]
notebook = nbformat.v4.new_notebook(cells=cells)
client = nbclient.NotebookClient(notebook, timeout=240, allow_errors=True, kernel_name="python3",
                                 interrupt_on_timeout=True)
client.execute()
for cell in notebook.cells:
    for output in cell.outputs: print(output.get("text", output.get("ename")).strip())
"""

INTERRUPT = """
import threading, _thread
threading.Timer(0.2, _thread.interrupt_main).start()
while True: train(1)
"""


@installed("nbclient", "ipykernel")
class Notebook(Recording):
    def test_training_in_cells(self):
        """The kernel is watched from start() on; it survives an error and an interrupt, and ends with the notebook."""
        done = self.record([PYTHON, "-c", RUN_NOTEBOOK, "import highwater_mps as highwater; highwater.start()", TRAIN, "1 / 0", "train(2)",
                            INTERRUPT, "train(1); print('done')"], IPYTHONDIR=self.folder)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out.split(), ["ZeroDivisionError", "KeyboardInterrupt", "done"])
        self.assertGreaterEqual(done.steps, 3 + 2 + 1)
        self.assertEqual(done.facts["workload"], "notebook")
        self.assertEqual(done.facts["ended"], "finished")

    def test_without_start(self):
        done = self.record([PYTHON, "-c", RUN_NOTEBOOK, TRAIN, "print('done')"], IPYTHONDIR=self.folder)
        self.assertEqual((done.code, done.out, done.steps), (0, "done\n", 3), done.err)

    def test_start_outside(self):
        cell = "import highwater_mps as highwater\ntry: highwater.start()\nexcept RuntimeError as error: print(error)"
        done = subprocess.run([PYTHON, "-c", RUN_NOTEBOOK, cell], capture_output=True, text=True, timeout=LIMIT,
                              env={**environment(IPYTHONDIR=self.folder), "PYTHONPATH": support.SOURCES}, check=False)
        self.assertIn("highwater run --record FILE -- jupyter notebook", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
