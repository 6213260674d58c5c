"""Runs scripts with and without Highwater's hooks, and reads what the hooks told the probe."""
import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src", "python")
SCRIPTS = os.path.join(HERE, "scripts")
RECORDING = os.path.join(HERE, "recording")
sys.path.insert(0, SOURCES)

from highwater_mps._attach import environment  # noqa: E402

PYTHON = os.environ.get("HIGHWATER_TEST_PYTHON", sys.executable)

# Defines train(steps), which trains for so many steps.
TRAIN = """
import os, signal, sys, time, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def train(steps):
    for _ in range(steps):
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
"""


class Step(NamedTuple):
    number: int
    batch: int
    length: int
    micro_steps: int
    late: bool


class Log:
    """The calls of one run, in order."""

    def __init__(self, lines):
        self.calls = [json.loads(line) for line in lines]

    def of(self, name):
        """The arguments of all calls of `name`."""
        return [call[1:-1] for call in self.calls if call[0] == name]

    def processes(self):
        return {call[-1]["pid"] for call in self.calls}

    def steps(self):
        return [Step(*values) for values in self.of("end_step")]

    def phases(self):
        """The keys of the phases, in the order of their begin."""
        return [key for key, in self.of("begin_phase")]

    def modules(self):
        """The names of the modules, in the order of their calls."""
        return [name for name, in self.of("enter_module")]

    def described(self):
        facts = {}
        for text, in self.of("describe"):
            facts.update(json.loads(text))
        return facts

    def knobs(self):
        return {knob["name"]: knob for knob in (json.loads(text) for text, in self.of("add_knob"))}

    def nesting_problem(self):
        """What is wrong with the nesting of phases and modules on the main thread, else ""."""
        closes = {"leave_module": "enter_module", "end_phase": "begin_phase"}
        open_calls = []
        for call in self.calls:
            if not call[-1]["main"]:
                continue
            if call[0] in closes.values():
                open_calls.append(call[0])
            elif call[0] in closes:
                if not open_calls or open_calls.pop() != closes[call[0]]:
                    return f"{call} closes nothing"
        return f"{open_calls} are open at the end" if open_calls else ""


class Run(NamedTuple):
    code: int
    out: str
    err: str
    log: Log
    signs: dict[str, str]  # what the process left for the window, by name


def base_environment(**more):
    names = {name: value for name, value in os.environ.items() if not name.startswith("HIGHWATER_")}
    return {**names, "PYTHONPATH": RECORDING, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "TOKENIZERS_PARALLELISM": "false", **more}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def in_own_process(command, variables, timeout=300, cwd=SCRIPTS, **options):
    """Runs `command` as it is."""
    done = subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True, timeout=timeout,
                          check=False, stdin=subprocess.DEVNULL, **options)
    return Done(done.returncode, done.stdout, done.stderr)


class ForkServer:
    """fork_server.py, from its first use to the end of the tests."""

    _process = None

    @classmethod
    def _start(cls):
        cls._process = subprocess.Popen([PYTHON, os.path.join(HERE, "fork_server.py")], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=base_environment())
        atexit.register(cls._end)

    @classmethod
    def _end(cls):
        cls._process.stdin.close()
        cls._process.wait()
        cls._process.stdout.close()

    @classmethod
    def _answer(cls):
        line = cls._process.stdout.readline()
        if not line:
            raise RuntimeError("the fork server has ended")
        return json.loads(line)

    @classmethod
    def run(cls, command, variables, timeout=300, cwd=SCRIPTS):
        """Runs a command of `code` or `script` in a fork of a process that has imported PyTorch."""
        if cls._process is None:
            cls._start()
        assert command[0] == PYTHON, command
        with tempfile.TemporaryDirectory() as folder:
            names = {name: os.path.join(folder, name) for name in ("stdout", "stderr")}
            request = {"arguments": command[1:], "environment": variables, "folder": cwd, **names}
            print(json.dumps(request), file=cls._process.stdin)
            killer = threading.Timer(timeout, os.kill, [cls._answer(), signal.SIGKILL])
            killer.start()
            returncode = cls._answer()
            killer.cancel()
            return Done(returncode, *(open(path, encoding="utf-8").read() for path in names.values()))


# Started by `highwater run`, tells its environment, and ends as the script did that had this environment meanwhile.
STAND_IN = """
import json, os, signal, sys
print(json.dumps(dict(os.environ)), flush=True)
code = int(sys.stdin.readline())
if code < 0:
    if code != -9: signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def forked_below(start, command, folder, timeout=300):
    """Runs `command` in `folder` as a fork that has the environment that Highwater gives its program.

    `start` starts Highwater with a given command as its program, and pipes for its descriptors, as text. Returns what
    the command did, and what Highwater wrote to stderr.
    """
    with start([PYTHON, "-I", "-S", "-c", STAND_IN]) as process:
        try:
            done = ForkServer.run(command, json.loads(process.stdout.readline()), timeout, folder)
            _, said = process.communicate(f"{done.returncode}\n", timeout=timeout)
        finally:
            process.kill()
    assert process.returncode == done.returncode, said
    return done, said


# On a Mac a fork may not use the system's frameworks, which PyTorch has loaded.
forked = in_own_process if sys.platform == "darwin" else ForkServer.run


def run(command, watched, commands=None, how=in_own_process, **options):
    """Runs `command` in the folder of the scripts; with the hooks if `watched`. `how`: in_own_process or forked."""
    variables = base_environment(**options.pop("variables", {}))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log")
        if watched:
            variables = environment(os.path.join(folder, "socket"), "token", variables)
            variables["HIGHWATER_TEST_LOG"] = path
            variables["HIGHWATER_TEST_COMMANDS"] = json.dumps(commands or {})
        done = how(command, variables, **options)
        lines = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
        signs = {entry.name: os.readlink(entry.path) for entry in os.scandir(folder) if entry.is_symlink()}
    return Run(done.returncode, done.stdout, done.stderr, Log(lines), signs)


def run_both(test, command, **options):
    """Runs `command` without and with the hooks, and checks that a user sees no difference."""
    without = run(command, False, **options)
    watched = run(command, True, **options)
    test.assertEqual(watched.out, without.out, watched.err)
    test.assertEqual(watched.code, without.code, watched.err)
    return without, watched


def code(text, *arguments):
    """The command that runs a script given as text."""
    return [PYTHON, "-c", text, *arguments]


def script(name, *arguments):
    return [PYTHON, f"{name}.py", *arguments]


def load_perfetto():
    """The message classes of Perfetto's traces; None where the package is not installed."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        return None
    return perfetto_trace_pb2
