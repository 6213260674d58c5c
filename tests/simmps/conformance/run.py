#!/usr/bin/env python3
"""Operator conformance of the simulated MPS device on PyTorch's OpInfo database.

Runs each entry forward and backward on the device and on the CPU, in worker processes, and compares
values, sizes, strides, dtypes and devices. Exits with 1 if a result is wrong, a worker crashes, an
outcome differs from expectations.py, or fewer entries pass than the goals require.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import expectations
from catalog import DTYPES
from ledger import charge, fallbacks
from pool import HERE, run_all
from training import TRAINING
from verdicts import Drains, against_common_mps, count, table, verdict_of, with_fallback


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libhighwater_simmps.so")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--only", default="", help="regular expression on the entry's name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one entry")
    parser.add_argument("--goal", type=int, default=640,
                        help="float32 entries that must pass or fall back (a whole run only)")
    parser.add_argument("--device-goal", type=int, default=605,
                        help="float32 entries that must pass on the device itself (a whole run only)")
    parser.add_argument("--training-goal", type=float, default=0.9,
                        help="share of training's entries without a wait for a shape (a whole run only)")
    parser.add_argument("--json", help="write every verdict here")
    parser.add_argument("--samples", type=int, default=60,
                        help="most samples per entry (float32 takes all without --few); 0: all")
    parser.add_argument("--few", type=int, default=0, metavar="SAMPLES",
                        help="most samples per entry, also of float32: of each kind the first, and some more")
    return parser.parse_args()


class Suite:
    """One run of the suite: jobs, results, summary."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.catalog = self._listed()
        self.verdicts = []

    def _listed(self):
        """The catalog, read by a process that loads the device."""
        done = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"),
                               self.arguments.library, "--list"], stdout=subprocess.PIPE, check=True,
                              env=self._environment("list", PYTORCH_ENABLE_MPS_FALLBACK="0"))
        return json.loads(done.stdout)

    def _environment(self, run, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("HIGHWATER_SIM_", "PYTORCH_"))}
        return {**kept, "OMP_NUM_THREADS": "1",
                "CONFORMANCE_STDERR": os.path.join(self.folder, run + ".stderr.{worker}"),
                "HIGHWATER_SIM_LEDGER": self._ledger(run, "{worker}"), **more}

    def _ledger(self, run, worker):
        return os.path.join(self.folder, f"{run}.ledger.{worker}")

    def jobs(self):
        for dtype in self.arguments.dtypes.split(","):
            for entry, known in self.catalog.items():
                if dtype in known["dtypes"] and re.search(self.arguments.only, entry):
                    yield self.job(entry, dtype)

    def job(self, entry, dtype):
        half = dtype in ("float16", "bfloat16")
        samples = self.arguments.few or (0 if dtype == "float32" else self.arguments.samples)
        if entry in expectations.ALL_SAMPLES:
            samples = 0
        if half:
            samples = expectations.SLOW_IN_HALF.get(entry, samples)
        return {"entry": entry, "dtype": dtype, "samples": samples,
                "values": entry not in expectations.UNINITIALIZED,
                "strides": entry not in expectations.STRIDES_OF_MPS,
                "tolerance": expectations.HALF_TOLERANCE.get(entry, (None,))[0] if half else None}

    def _run(self, jobs, run, report, **environment):
        run_all(jobs, self.arguments.library, self._environment(run, **environment),
                self.arguments.workers, self.arguments.limit, report)

    def run(self):
        def report(job, result):
            self.verdicts.append({**job, **result, **verdict_of(job["entry"], job["dtype"], result)})

        self._run(self.jobs(), "plain", report)
        charge(self.verdicts, lambda worker: self._ledger("plain", worker))

    def run_with_fallback(self):
        """Repeats what was refused for lack of a kernel; with the fallback it must work."""
        refused = {(each["entry"], each["dtype"]): each for each in self.verdicts
                   if each["verdict"] == "refused" and each["reason"].startswith("no MPS kernel: ")}

        results = {}

        def report(job, result):
            results[job["entry"], job["dtype"]] = result

        # The copies back to the device do not keep strides.
        self._run([{**self.job(*key), "strides": False} for key in refused], "fallback", report,
                  PYTORCH_ENABLE_MPS_FALLBACK="1")
        charge(results.values(), lambda worker: self._ledger("fallback", worker), "fallbacks",
               fallbacks)
        for key, result in results.items():
            refused[key].update(with_fallback(refused[key], result))

    def is_whole(self):
        return not self.arguments.only and "float32" in self.arguments.dtypes.split(",")

    def failures(self):
        """The reasons why the suite fails, one per line."""
        lines = [f"{each['verdict']}: {each['entry']} ({each['dtype']}): {each['reason']}"
                 for each in self.verdicts if each["verdict"] in ("wrong", "crash")]
        # Other versions have other entries, and the older ones fewer kernels.
        if expectations.VERSION == expectations.REFERENCE:
            for name in sorted((expectations.known() | set(TRAINING)) - set(self.catalog)):
                lines.append(f"{name} is in the lists of the suite, but not in the database")
        if self.is_whole() and expectations.VERSION >= expectations.REFERENCE:
            good, on_device = self._good()
            if good < self.arguments.goal:
                lines.append(f"{good} float32 entries pass or fall back, fewer than "
                             f"{self.arguments.goal}")
            if on_device < self.arguments.device_goal:
                lines.append(f"{on_device} float32 entries pass on the device itself, fewer than "
                             f"{self.arguments.device_goal}")
            drains = Drains(self.verdicts)
            if not drains.seen():
                lines.append("no wait for a shape in any ledger: has the name of the cause changed?")
            share = drains.training_share()
            if share < self.arguments.training_goal:
                lines.append(f"{share:.3f} of training's entries ran without a wait for a shape, less than "
                             f"{self.arguments.training_goal}")
        return lines

    def _good(self):
        """float32 entries: (pass or fall back, pass on the device itself)."""
        return count(self.verdicts, "pass", "falls back"), count(self.verdicts, "pass")

    def summary(self):
        parted = against_common_mps(self.verdicts, self.catalog)
        good, on_device = self._good()
        lines = [table(self.verdicts),
                 f"float32: {good} pass or fall back (goal {self.arguments.goal}), "
                 f"{on_device} of them on the device itself (goal {self.arguments.device_goal})",
                 Drains(self.verdicts).text()]
        for what, names in parted.items():
            lines.append(f"{what}: {len(names)}")
        return "\n".join(lines)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "verdicts": self.verdicts, "failures": self.failures(),
                       "against_common_mps": against_common_mps(self.verdicts, self.catalog)},
                      file, indent=1)


def main():
    arguments = options()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(arguments, folder)
        suite.run()
        suite.run_with_fallback()
    print(suite.summary())
    if arguments.json:
        suite.write(arguments.json)
    failures = suite.failures()
    print("\n".join(failures))
    print(f"{len(failures)} failures in {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
