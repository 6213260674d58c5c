"""What Highwater costs a Python training: bench.py --programs FOLDER [--python PATH] [--json FILE].

Each training runs in several processes at once: without Highwater (twice: the second is the control), under
`highwater run --record`, under the same without host samples, and under torch.profiler. They take turns, in one order and then in the opposite one,
so that only one of them runs at a time and a drift of the machine affects all alike.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))
ARMS = ("without", "control", "highwater", "unsampled", "profiler")
WATCHED = ("highwater", "unsampled")
# Of a block. Blocks are short, so that on a busy machine most of them run without being interrupted.
STEPS = {"plain_loop": 3, "host_bound_loop": 100, "accumulating_loop": 10, "hugging_face": 3}
# The first steps after the one in which Highwater attaches: it looks at more in these.
EARLY_STEPS = 60
# Upper limits, by the name of the row.
GOALS = {"highwater_over_nothing": 1.02, "host_samples_over_none": 1.002}
_LIMIT_SECONDS = 180


class Machinery:
    """The programs that the bench starts, and a folder for what they write."""

    def __init__(self, programs, python, folder):
        self.highwater = os.path.join(programs, "highwater")
        self.libraries = os.path.join(os.path.dirname(programs), "lib")
        self.simulated = os.path.join(self.libraries, "libhighwater_simmps.so")
        self.python = python
        self.folder = folder

    def environment(self, arm, **more):
        simulated = "" if arm in WATCHED else self.simulated
        if arm == "unsampled":
            more["HIGHWATER_HOST_SAMPLES"] = "0"
        return {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE",
                "TOKENIZERS_PARALLELISM": "false", "BENCH_SIMULATED_DEVICE": simulated, **more}

    def command(self, arm, script, *arguments):
        command = [self.python, "-W", "ignore", os.path.join(HERE, script), *arguments]
        if arm not in WATCHED:
            return command
        recording = os.path.join(self.folder, f"{arm}.highwater")
        return [self.highwater, "run", "--device", "sim", "--record", recording, "--force", "--", *command]


class Arm:
    """A process that runs blocks of steps when it is told to."""

    def __init__(self, machinery, arm, training):
        path = os.path.join(machinery.folder, f"{arm}.socket")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(1)
        more = {"BENCH_SOCKET": path, **({"BENCH_PROFILER": "1"} if arm == "profiler" else {})}
        self._log = open(os.path.join(machinery.folder, f"{arm}.log"), "w+", encoding="utf-8")
        self._process = subprocess.Popen(machinery.command(arm, "trainings.py", training),
                                         env=machinery.environment(arm, **more), stdin=subprocess.DEVNULL,
                                         stdout=self._log, stderr=self._log)
        self._socket = self._accept(listener)
        listener.close()
        os.remove(path)
        self._socket.settimeout(_LIMIT_SECONDS)
        self._lines = self._socket.makefile("r")
        self._answer()

    def _accept(self, listener):
        deadline = time.monotonic() + _LIMIT_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return listener.accept()[0]
        self._process.kill()
        raise SystemExit(f"a training did not start\n{self._output()}")

    def run(self, steps):
        """The cost of a block of steps."""
        self._socket.sendall((json.dumps({"steps": steps}) + "\n").encode())
        return self._answer()

    def end(self):
        """Lets the training end, and returns what it wrote."""
        self._lines.close()
        self._socket.close()
        code = self._process.wait(_LIMIT_SECONDS)
        if code:
            raise SystemExit(f"a training ended with {code}\n{self._output()}")
        return self._output()

    def _answer(self):
        line = self._lines.readline()
        if not line:
            self._process.wait(_LIMIT_SECONDS)
            raise SystemExit(f"a training ended early\n{self._output()}")
        return json.loads(line)

    def _output(self):
        self._log.seek(0)
        return self._log.read()


def measure(machinery, training, rounds, quads, arms):
    """The costs per step of all blocks, {arm: [[first, second] of each quad]}, and those of the first EARLY_STEPS of each
    process, {arm: [cost of each round]}."""
    steps = STEPS[training]
    costs, early = {arm: [] for arm in arms}, {arm: [] for arm in arms}
    for number in range(rounds):
        running = {arm: Arm(machinery, arm, training) for arm in arms}
        for each in running.values():
            each.run(1)
        for arm, each in running.items():
            early[arm].append({kind: value / EARLY_STEPS for kind, value in each.run(EARLY_STEPS).items()})
        for quad in range(quads):
            order = list(arms[quad % len(arms):] + arms[:quad % len(arms)])
            found = {arm: [] for arm in arms}
            for arm in order + order[::-1]:
                block = running[arm].run(steps)
                found[arm].append({kind: value / steps for kind, value in block.items()})
            for arm, pair in found.items():
                costs[arm].append(pair)
        for arm, each in running.items():
            output = each.end()
            if arm in WATCHED and ("not watched" in output or "Recording" not in output):
                raise SystemExit(f"Highwater did not record {training}\n{output}")
        print(f"  {training}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return costs, early


def ratios(costs, arm, base, kind):
    return [sum(each[kind] for each in pair) / sum(each[kind] for each in beside)
            for pair, beside in zip(costs[arm], costs[base])]


def row(name, setting, unit, found):
    return results.row(name, setting, unit, found, GOALS.get(name))


def early_rows(training, early):
    """Of the first steps of a process."""
    return [row(f"{arm}_early_over_nothing", training, "×",
                results.estimate([found["wall"] / beside["wall"] for found, beside in zip(early[arm], early["without"])]))
            for arm in early if arm in ("control", "highwater")]


def training_rows(training, costs):
    """Of the process's time for a step, and of its CPU time."""
    bases = [each["wall"] * 1e3 for pair in costs["without"] for each in pair]
    rows = [row("step_without", training, "ms", results.estimate(bases))]
    for arm in costs:
        if arm != "without":
            for name, kind in (("over_nothing", "wall"), ("cpu_time", "cpu")):
                rows.append(row(f"{arm}_{name}", training, "×",
                                results.estimate(ratios(costs, arm, "without", kind))))
    if {*WATCHED} <= {*costs}:
        for name, kind in (("over_none", "wall"), ("cpu_time", "cpu")):
            rows.append(row(f"host_samples_{name}", training, "×",
                            results.estimate(ratios(costs, *WATCHED, kind))))
    return rows


def start_seconds(machinery, arm, native="", cache=""):
    """What starting.py measured in a process of its own, in seconds."""
    more = {"XDG_CACHE_HOME": cache} if cache else {}
    if native:
        more["HIGHWATER_NATIVE"] = native
    done = subprocess.run(machinery.command(arm, "starting.py"), env=machinery.environment(arm, **more),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_SECONDS,
                          check=False)
    found = re.search(r"^\{.*\}$", done.stdout, re.MULTILINE)
    if done.returncode or not found or "not watched" in done.stderr:
        raise SystemExit(f"starting.py failed with {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(found.group())


def start_rows(machinery, samples):
    """What the start of a training takes: the first optimizer of a process, where Highwater attaches."""
    sources = os.path.join(machinery.libraries, "script")
    native, cache = (os.path.join(machinery.folder, name) for name in ("native", "cache"))
    # For any other PyTorch than that of Highwater's own build there is no library yet.
    shutil.copytree(sources, native, ignore=shutil.ignore_patterns("built_for.txt", "*.so"))
    built = start_seconds(machinery, "highwater", native, cache)["optimizer"]
    rows = [row("first_optimizer", "library is built", "s", results.exact(built))]
    arms = (("without", ("without",)), ("prebuilt library", ("highwater",)),
            ("cached library", ("highwater", native, cache)))
    found = {name: [] for name, _ in arms}
    for _ in range(samples):
        for name, arguments in arms:
            found[name].append(start_seconds(machinery, *arguments))
    for name, times in found.items():
        for key, what in (("optimizer", "first_optimizer"), ("python", "python_start"), ("torch", "import_torch")):
            rows.append(row(what, name, "ms", results.estimate([each[key] * 1e3 for each in times])))
    return rows


def has_transformers(python):
    return subprocess.run([python, "-c", "import transformers, accelerate"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, help="the folder of highwater")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--training", choices=[*STEPS, "none"], action="append",
                        help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=2, help="sets of fresh processes")
    parser.add_argument("--quads", type=int, default=30, help="pairs of blocks of each arm in a round")
    parser.add_argument("--starts", type=int, default=5, help="starts of each kind; 0: none")
    parser.add_argument("--json", help="a file for the figures; without it they go to stdout")
    options = parser.parse_args()
    trainings = [each for each in options.training or STEPS if each in STEPS]
    if "hugging_face" in trainings and not has_transformers(options.python):
        trainings.remove("hugging_face")
        print(f"hugging_face is left out: {options.python} has no transformers and accelerate; install them, or "
              "name another interpreter by HIGHWATER_BENCH_PYTHON", file=sys.stderr)
    report = results.report("python", "the same without Highwater, and torch.profiler, on the simulated device")
    with tempfile.TemporaryDirectory() as folder:
        machinery = Machinery(os.path.abspath(options.programs), options.python, folder)
        for training in trainings:
            costs, early = measure(machinery, training, options.rounds, options.quads, ARMS)
            report["rows"] += training_rows(training, costs) + early_rows(training, early)
        if options.starts:
            report["rows"] += start_rows(machinery, options.starts)
    with open(options.json, "w", encoding="utf-8") if options.json else contextlib.nullcontext(sys.stdout) as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
