#!/usr/bin/env python3
"""What `highwater run --try` measures, beside fresh runs of the changed script, on the simulated device.

Each of seven kinds of waits and knobs of waits.py, with a host that computes for long or for short beside the device: the
gain of the try, and the difference between the script's own clock with and without it, in runs that take turns and that
nobody watches. Knobs of the sample likewise, by the recording's clock. And scripts of your own, each with a changed copy:
--pair train.py:41=fixed.py. Prints a table and writes JSON. A try that says that there is nothing to gain, or a loss within
chance, counts as 0.
"""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "waits.py")
KINDS = ["item", "metric", "copy", "condition", "synchronize", "empty", "knob"]
SAMPLE = {"loss-every": ("1", "20"), "accumulate": ("1", "4"), "precision": ("float32", "bfloat16")}
SIZES = [("device-bound", ["--width", "1024", "--host-ms", "4"]), ("host-bound", ["--width", "512", "--host-ms", "8"])]


def line_of(kind):
    """The line of waits.py that waits."""
    what = {"item": "losses.append(loss.item())", "metric": "right += (", "copy": "seen.append(outputs",
            "condition": "if loss > 1e9", "synchronize": "            torch.mps.synchronize()",
            "empty": "torch.mps.empty_cache()"}[kind]
    with open(SCRIPT, encoding="utf-8") as file:
        lines = [number for number, text in enumerate(file, 1) if what in text]
    return lines[-1]


class Program:
    """What is tried: its runs, with and without the change."""

    def __init__(self, options, folder):
        self.program, self.options, self.recording = os.path.join(options.bin, "highwater"), options, os.path.join(
            folder, "run.highwater")

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-800:])
        return done

    def clock(self):
        """Milliseconds of a step of the recording by the clock, with what lies between steps, but for the first 60."""
        trace = os.path.join(os.path.dirname(self.recording), "trace.json")
        self.run("export", self.recording, "--to", trace, "--force")
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        steps = sorted((each["ts"], each["dur"]) for each in events if each["name"].startswith("ProfilerStep#"))[60:]
        return (steps[-1][0] + steps[-1][1] - steps[0][0]) / 1000 / len(steps)

    def truth(self):
        """The gain in ms a step and its 95 % interval, from pairs of runs in turns."""
        pairs = []
        for turn in range(self.options.pairs):
            order = (False, True) if turn % 2 == 0 else (True, False)
            steps = {fixed: self.step(fixed) for fixed in order}
            pairs.append(steps[False] - steps[True])
        chance = random.Random(1)
        means = sorted(statistics.mean(chance.choices(pairs, k=len(pairs))) for _ in range(2000))
        return statistics.mean(pairs), means[50], means[1950]

    def said(self, done, change):
        """What the program says of the try."""
        found = re.search(rf"(?:without the waits at|with) {re.escape(change)}: (.*)", done.stderr)
        if not found:
            raise RuntimeError(done.stderr[-800:])
        return found.group(1)


class Waits(Program):
    def __init__(self, options, folder, kind, size):
        super().__init__(options, folder)
        self.kind, self.command = kind, [options.python, "-W", "ignore", SCRIPT, "--kind", kind, *size]

    def step(self, fixed):
        done = self.run("run", "--device", "sim", "--quiet", "--level", "off", "--record", self.recording, "--force", "--",
                        *self.command, "--steps", "300", *(["--fixed"] if fixed else []))
        return float(re.search("^step (.*)$", done.stdout, re.MULTILINE).group(1))

    def tried(self):
        change = "every=20" if self.kind == "knob" else f"waits.py:{line_of(self.kind)}"
        done = self.run("run", "--device", "sim", "--record", self.recording, "--force", "--try", change, "--", *self.command)
        return self.said(done, change.replace("=", " = "))


class Sample(Program):
    """The built-in sample with a knob at two values."""

    def __init__(self, options, folder, knob):
        super().__init__(options, folder)
        self.knob, self.values = knob, SAMPLE[knob]

    def record(self, value, *more):
        return self.run("record", "--device", "sim", "--batch", "8", "--seq", "64", "--steps", "400", "-o", self.recording,
                        "--force", f"--{self.knob}", value, *more)

    def step(self, fixed):
        self.record(self.values[fixed])
        accumulated = int(self.values[fixed]) if self.knob == "accumulate" else 1
        return self.clock() / accumulated

    def tried(self):
        return self.said(self.record(self.values[0], "--try", f"{self.knob}={self.values[1]}"), f"{self.knob} = {self.values[1]}")


class Pair(Program):
    """A script, the line of its wait, and a copy of it that does not wait."""

    def __init__(self, options, folder, text):
        super().__init__(options, folder)
        self.line, self.fixed = text.rsplit("=", 1)
        self.script = self.line.rsplit(":", 1)[0]

    def watch(self, script, *more):
        return self.run("run", "--device", "sim", "--record", self.recording, "--force", *more, "--", self.options.python, "-W",
                        "ignore", script)

    def step(self, fixed):
        self.watch(self.fixed if fixed else self.script, "--quiet", "--level", "off")
        return self.clock()

    def tried(self):
        return self.said(self.watch(self.script, "--try", self.line), os.path.basename(self.line))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the program highwater")
    parser.add_argument("--python", default=sys.executable, help="interpreter with PyTorch")
    parser.add_argument("--pairs", type=int, default=6, help="runs with and without the wait")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--pair", action="append", metavar="FILE:LINE=FILE", help="a script's wait, and the script without it")
    parser.add_argument("kinds", nargs="*", help="of " + ", ".join([*KINDS, *SAMPLE]) + "; all, unless there are pairs")
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS and kind not in SAMPLE:
            parser.error(f"there is no kind {kind}; there are {', '.join([*KINDS, *SAMPLE])}")
    kinds = options.kinds or ([] if options.pair else [*KINDS, *SAMPLE])
    results = []
    with tempfile.TemporaryDirectory() as folder:
        rows = [(f"{kind}, {name}", Waits(options, folder, kind, size))
                for kind in kinds if kind in KINDS for name, size in SIZES]
        rows += [(f"the sample's {kind}", Sample(options, folder, kind)) for kind in kinds if kind in SAMPLE]
        rows += [(text.rsplit("=", 1)[0], Pair(options, folder, text)) for text in options.pair or ()]
        for name, program in rows:
            gain, lower, upper = program.truth()
            text = program.tried()
            number = re.match(r"(a loss of )?([\d.]+) (ms|s) a step", text)
            if not number and not text.startswith(("nothing", "too noisy")):
                raise RuntimeError(text)
            unit = 1000 if number and number.group(3) == "s" else 1
            measured = unit * float(number.group(2)) * (-1 if number.group(1) else 1) if number else 0.0
            close = abs(measured - gain) <= max(1.0, 0.2 * abs(gain))
            results.append({"name": name, "truth_ms": gain, "interval_ms": [lower, upper], "tried_ms": measured,
                            "close": close, "text": text})
            print(f"{name}: changed {gain:.2f} ms ({lower:.2f} to {upper:.2f}), tried {measured:.2f} ms"
                  f"{'' if close else ', NOT close'}: {text}", flush=True)
    print(f"{sum(each['close'] for each in results)} of {len(results)} within 20 % or 1 ms")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
