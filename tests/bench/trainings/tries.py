#!/usr/bin/env python3
"""What `highwater run --try` measures, beside fresh runs of the changed script, on the simulated device.

Each of five kinds of waits, with a host that computes for long or for short beside the device: the gain of the try, and
the difference between the script's own clock with and without the wait, in runs that take turns
and that nobody watches. Prints a table and writes JSON.
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
KINDS = ["item", "metric", "copy", "condition", "synchronize"]
SIZES = [("device-bound", ["--width", "1024", "--host-ms", "4"]), ("host-bound", ["--width", "512", "--host-ms", "8"])]


def line_of(kind):
    """The line of waits.py that waits."""
    what = {"item": "losses.append(loss.item())", "metric": "right += (", "copy": "seen.append(outputs",
            "condition": "if loss > 1e9", "synchronize": "            torch.mps.synchronize()"}[kind]
    with open(SCRIPT, encoding="utf-8") as file:
        lines = [number for number, text in enumerate(file, 1) if what in text]
    return lines[-1]


class Program:
    def __init__(self, options, kind, size, folder):
        self.options, self.kind, self.size, self.folder = options, kind, size, folder
        self.command = [options.python, "-W", "ignore", SCRIPT, "--kind", kind, *size]

    def run(self, *options, more=()):
        done = subprocess.run([os.path.join(self.options.bin, "highwater"), "run", "--device", "sim", *options, "--",
                               *self.command, *more], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-800:])
        return done

    def step(self, fixed):
        done = self.run("--quiet", "--level", "off", "--record", os.path.join(self.folder, "off.highwater"), "--force",
                        more=["--steps", "300", *(["--fixed"] if fixed else [])])
        return float(re.search("^step (.*)$", done.stdout, re.MULTILINE).group(1))

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

    def tried(self):
        """What the program says of the try."""
        recording = os.path.join(self.folder, "try.highwater")
        line = f"waits.py:{line_of(self.kind)}"
        done = self.run("--record", recording, "--force", "--try", line)
        found = re.search(rf"without the waits at {re.escape(line)}: (.*)", done.stderr)
        if not found:
            raise RuntimeError(done.stderr[-800:])
        return found.group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the program highwater")
    parser.add_argument("--python", default=sys.executable, help="interpreter with PyTorch")
    parser.add_argument("--pairs", type=int, default=6, help="runs with and without the wait")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("kinds", nargs="*", default=KINDS, help="of " + ", ".join(KINDS))
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"there is no kind {kind}; there are {', '.join(KINDS)}")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            for name, size in SIZES:
                program = Program(options, kind, size, folder)
                gain, lower, upper = program.truth()
                text = program.tried()
                number = re.match(r"(-?[\d.]+) ms a step", text)
                measured = float(number.group(1)) if number else 0.0
                close = abs(measured - gain) <= max(1.0, 0.2 * abs(gain))
                results.append({"kind": kind, "size": name, "truth_ms": gain, "interval_ms": [lower, upper],
                                "tried_ms": measured, "close": close, "text": text})
                print(f"{kind}, {name}: changed script {gain:.2f} ms ({lower:.2f} to {upper:.2f}), tried {measured:.2f} ms"
                      f"{'' if close else ', NOT close'}: {text}", flush=True)
    print(f"{sum(each['close'] for each in results)} of {len(results)} within 20 % or 1 ms")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
