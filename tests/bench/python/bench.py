"""What Highwater costs a Python training: bench.py --programs FOLDER [--python PATH] [--json FILE].

Each training runs in several processes at once: without Highwater (twice: the second is the control), under
`highwater run --record`, and under torch.profiler. They take turns, in one order and then in the opposite one,
so that only one of them runs at a time and a drift of the machine affects all alike.
"""
import argparse
import contextlib
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ARMS = ("without", "control", "highwater", "profiler")
# Of a block. Blocks are short, so that on a busy machine most of them run without being interrupted.
STEPS = {"plain_loop": 3, "host_bound_loop": 100, "hugging_face": 3}
GOAL = 1.02
_DRAWS = 10_000
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
        simulated = "" if arm == "highwater" else self.simulated
        return {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE",
                "TOKENIZERS_PARALLELISM": "false", "BENCH_SIMULATED_DEVICE": simulated, **more}

    def command(self, arm, script, *arguments):
        command = [self.python, "-W", "ignore", os.path.join(HERE, script), *arguments]
        if arm != "highwater":
            return command
        recording = os.path.join(self.folder, "run.highwater")
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
    """The costs per step of all blocks: {arm: [[first, second] of each quad]}."""
    steps = STEPS[training]
    costs = {arm: [] for arm in arms}
    for number in range(rounds):
        running = {arm: Arm(machinery, arm, training) for arm in arms}
        for each in running.values():
            each.run(steps)  # warms up
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
            if arm == "highwater" and ("not watched" in output or "Recording" not in output):
                raise SystemExit(f"Highwater did not record {training}\n{output}")
        print(f"  {training}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return costs


def ratios(costs, arm, base, kind):
    return [sum(each[kind] for each in pair) / sum(each[kind] for each in beside)
            for pair, beside in zip(costs[arm], costs[base])]


def estimate(values):
    """The median, and its 95 % bootstrap interval by percentiles."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return {"median": statistics.median(values), "low": medians[int(0.025 * _DRAWS)],
            "high": medians[int(0.975 * _DRAWS)], "samples": len(values)}


def shown(value, unit="", factor=1.0, digits=3):
    low, high = (f"{value[name] * factor:.{digits}f}" for name in ("low", "high"))
    return f"{value['median'] * factor:.{digits}f}{unit} ({low} to {high})"


def verdict(value):
    return "met" if value["high"] <= GOAL else "missed" if value["low"] > GOAL else "not decided"


def report_training(training, costs):
    """Prints the figures of one training, and returns them."""
    bases = [each["wall"] for pair in costs["without"] for each in pair]
    result = {"step_seconds": estimate(bases)}
    print(f"\n{training}: a step takes {shown(result['step_seconds'], ' ms', 1e3)} without Highwater")
    for arm in costs:
        if arm == "without":
            continue
        result[arm] = {kind: estimate(ratios(costs, arm, "without", kind)) for kind in ("wall", "cpu")}
        goal = f"   goal {GOAL}: {verdict(result[arm]['wall'])}" if arm == "highwater" else ""
        print(f"  {arm:10} step time {shown(result[arm]['wall'])}   CPU time {shown(result[arm]['cpu'])}{goal}")
    return result


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


def report_starts(machinery, samples):
    """Prints what the start of a training takes, and returns it in seconds."""
    sources = os.path.join(machinery.libraries, "script")
    native, cache = (os.path.join(machinery.folder, name) for name in ("native", "cache"))
    # For any other PyTorch than that of Highwater's own build there is no library yet.
    shutil.copytree(sources, native, ignore=shutil.ignore_patterns("built_for.txt", "*.so"))
    result = {"first build": start_seconds(machinery, "highwater", native, cache)["optimizer"]}
    arms = (("without", ("without",)), ("prebuilt library", ("highwater",)),
            ("cached library", ("highwater", native, cache)))
    found = {name: [] for name, _ in arms}
    for _ in range(samples):
        for name, arguments in arms:
            found[name].append(start_seconds(machinery, *arguments))
    print("\nthe first optimizer of a process, where Highwater attaches; and the process until `import torch`")
    print(f"  {'first build':18} {result['first build']:.1f} s")
    for name, times in found.items():
        result[name] = {key: estimate([each[key] for each in times]) for key in ("optimizer", "python", "torch")}
        print(f"  {name:18} {shown(result[name]['optimizer'], ' ms', 1e3, 1)}   "
              f"python {shown(result[name]['python'], ' ms', 1e3, 1)}, "
              f"import torch {shown(result[name]['torch'], ' ms', 1e3, 0)}")
    return result


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
    parser.add_argument("--json", help="a file for the figures")
    options = parser.parse_args()
    trainings = [each for each in options.training or STEPS if each in STEPS]
    if "hugging_face" in trainings and not has_transformers(options.python):
        trainings.remove("hugging_face")
        print(f"hugging_face is left out: {options.python} has no transformers and accelerate; install them, or "
              "name another interpreter by HIGHWATER_BENCH_PYTHON", file=sys.stderr)
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        machinery = Machinery(os.path.abspath(options.programs), options.python, folder)
        print("Times are those of the simulated device and of the host's own work.")
        for training in trainings:
            result[training] = report_training(
                training, measure(machinery, training, options.rounds, options.quads, ARMS))
        if options.starts:
            result["starts"] = report_starts(machinery, options.starts)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
