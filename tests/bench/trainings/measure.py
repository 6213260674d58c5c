#!/usr/bin/env python3
"""Sweeps ten trainings on the simulated device, and compares with fresh runs that did not share the sweep's model.

For each: the settings and steps that the sweep took, how often it ran out of memory, the largest batch that it found safe
beside the true largest (found by halving, one fresh run a batch), and what its model predicts for half and twice the last
setting beside what fresh runs at these take. Needs transformers, peft and diffusers. Prints a table and writes JSON.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRAININGS = ["gpt2", "bert_varying", "lora", "resnet", "vit", "unet", "detector", "lstm", "gan", "checkpointed"]
MIB = 1024 * 1024


def report(program, recording):
    return json.loads(subprocess.run([program, "report", "--json", recording], check=True, capture_output=True).stdout)


class Training:
    def __init__(self, options, name, folder):
        self.options, self.name, self.folder = options, name, folder
        self.program = os.path.join(options.bin, "highwater")
        self.simulated = ["--device", "sim", "--sim-recommended-max", options.recommended]
        self.command = [options.python, "-W", "ignore", os.path.join(HERE, name + ".py")]
        self.peaks = {}  # of fresh runs, by batch

    def peak(self, batch):
        """The driver peak of a fresh run at this batch; None where it ran out of memory."""
        if batch not in self.peaks:
            recording = os.path.join(self.folder, f"{self.name}-{batch}.highwater")
            # With the end of an epoch, of 4096 samples, whose last batch may be shorter.
            steps = str(max(40 if self.name == "bert_varying" else 8, 4096 // batch + 3))
            done = subprocess.run([self.program, "run", "--quiet", *self.simulated, "--record", recording, "--",
                                   *self.command, "--batch-size", str(batch), "--steps", steps],
                                  capture_output=True, check=False)
            if done.returncode != 0 and b"out of memory" not in done.stderr:
                raise RuntimeError(done.stderr.decode()[-500:])
            facts = report(self.program, recording)
            self.peaks[batch] = None if done.returncode else max(
                each["driver_peak"] for each in facts["memory_model"]["measured"])
        return self.peaks[batch]

    def fits(self, batch, limit):
        peak = self.peak(batch)
        return peak is not None and peak <= limit

    def true_largest(self, found, limit):
        """The largest batch under the limit, to within a fiftieth."""
        low, high = found, None
        while not self.fits(low, limit):
            low, high = low // 2, low
        while high is None or high - low > max(1, low // 50):
            middle = low * 2 if high is None else (low + high) // 2
            low, high = (middle, high) if self.fits(middle, limit) else (low, middle)
        return low

    def measure(self):
        recording = os.path.join(self.folder, self.name + ".highwater")
        done = subprocess.run([self.program, "sweep", "--json", *self.simulated, "-o", recording, "--", *self.command],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(done.stderr[-500:])
        swept = json.loads(done.stdout)
        facts = report(self.program, recording)
        safe = [each["batch"] for each in swept["settings"] if each["safe"]]
        tried = {each["batch"] for each in swept["settings"]}
        rows = [{"batch": each["batch"], "measured": each["driver_peak"], **each["predicted_driver"]}
                for each in swept["settings"] if each["predicted_driver"] and not each["out_of_memory"]]
        fresh = []
        for each in facts["memory_model"]["predicted_peak"]:
            is_other_length = each["sequence_length"] != facts["memory_model"]["sequence_length"]
            if is_other_length or each["batch_size"] in tried or self.peak(each["batch_size"]) is None:
                continue
            driver = each["driver"]
            fresh.append({"batch": each["batch_size"], "measured": self.peak(each["batch_size"]),
                          **{key: driver[key] for key in ("bytes", "lower", "upper", "kind")}})
        return {"name": self.name, "settings": len(swept["settings"]),
                "out_of_memory": sum(each["out_of_memory"] for each in swept["settings"]),
                "stopped": swept["stopped"], "limit": swept["limit"], "found": max(safe, default=0),
                "recommended": (swept["recommended"] or {}).get("batch"),
                "true": self.true_largest(max(safe, default=1), swept["limit"]), "in_sweep": rows, "fresh": fresh}


def summary(name, rows):
    off = [abs(each["bytes"] - each["measured"]) for each in rows]
    above = sum(each["measured"] > each["upper"] for each in rows)
    errors = [each / row["measured"] for each, row in zip(off, rows)]
    near = sum(each <= max(0.03 * row["measured"], 32 * MIB) for each, row in zip(off, rows))
    return (f"{name}: {len(rows)} predictions, off by {statistics.median(errors):.1%} in the median, {near} within 3 % or "
            f"32 MiB, {above} measured above the upper bound")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the program highwater")
    parser.add_argument("--python", default=sys.executable, help="interpreter with PyTorch and the packages")
    parser.add_argument("--recommended", default="400MiB", help="recommended maximum of the simulated device")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("names", nargs="*", default=TRAININGS)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            results.append(Training(options, name, folder).measure())
            each = results[-1]
            print(f"{name}: {each['settings']} settings, {each['out_of_memory']} times out of memory, largest safe batch "
                  f"{each['found']} of {each['true']}, recommended {each['recommended']}"
                  + (f"; stopped: {each['stopped']}" if each["stopped"] else ""), flush=True)
            for kind in ("in_sweep", "fresh"):
                for row in each[kind]:
                    print(f"  {kind} batch {row['batch']}: predicted {row['bytes'] / MIB:.0f} MiB (at most "
                          f"{row['upper'] / MIB:.0f}), measured {row['measured'] / MIB:.0f}", flush=True)
    for kind in ("in_sweep", "fresh"):
        rows = [row for each in results for row in each[kind]]
        if rows:
            print(summary(kind, rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
