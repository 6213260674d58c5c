#!/usr/bin/env python3
"""Waits and fallbacks of PyTorch's operator database, and of some trainings, found at the probe's levels monitor
and ops and in the simulated device's ledger.

Each sample of each float32 entry runs forward and backward at both levels. The events must be the same in number,
order, thread, kind, op, phase, module and call site, and both must agree with the ledger. Exits with 1 where they
do not.
"""
import argparse
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "simmps", "conformance"))

LEVELS = ("monitor", "ops")
# Of a whole run and of one with --few 8, to notice one that compares nothing.
LEAST_RUNS = {0: 15_000, 8: 3_500}
KINDS = {"copy_to_device", "copy_to_host", "equal", "fallback", "nonzero", "scalar_read", "unique", "value_read"}


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="regular expression on the entry's name")
    parser.add_argument("--few", type=int, default=0, metavar="SAMPLES",
                        help="most samples per entry: of each kind the first, and some more; 0: all")
    parser.add_argument("--json", help="write what was found here")
    return parser.parse_args()


class Run:
    """One piece of work at one level."""

    def __init__(self, level, work):
        import python_probe as probe
        import torch
        probe.level(level)
        probe.phase("forward")
        torch.mps.synchronize()
        probe.take()
        begin = time.monotonic_ns()
        self.error = None
        try:
            work(probe)
        except Exception as error:  # noqa: BLE001 - a refusal is as good as a result
            self.error = type(error).__name__
        _finish(torch)
        self.window = begin, time.monotonic_ns()
        self.events = probe.take()


def _finish(torch):
    """Waits for the device, whose failures come late."""
    try:
        torch.mps.synchronize()
    except Exception:  # noqa: BLE001 - of an op that the run has had
        pass


class Pair:
    """The same work at both levels."""

    def __init__(self, name, work_of):
        self.name = name
        self.runs = {level: Run(level, work_of()) for level in LEVELS}

    def problem(self, ledger):
        """Where the levels or the ledger differ; empty where all agree."""
        monitor, ops = (self.runs[level] for level in LEVELS)
        if monitor.error != ops.error:
            return f"raises {monitor.error} at monitor and {ops.error} at ops"
        left, right = ([each.described() for each in run.events] for run in (monitor, ops))
        if left != right:
            return f"monitor {_without(left, right)}, ops {_without(right, left)}"
        for level, run in self.runs.items():
            text = ledger_account.difference(run.events, *ledger.within(run.window))
            if text:
                return f"{level}: {text}"
        return ""


def _without(some, others):
    """Rows of `some` that `others` does not have; all of them where only the order differs."""
    rest = list((Counter(some) - Counter(others)).elements())
    return rest or some


def sample_work(entry_run, entry, sample):
    """Returns what makes the work for a sample of an entry, with fresh tensors."""
    def work_of():
        side, error = entry_run.attempt(
            lambda: entry_run.Side("mps", sample, entry.name in entry_run.HOST_ARGUMENTS))

        def work(probe):
            if error:
                raise error
            with probe.module("model"), probe.module("layer"):
                side.forward(entry.op)
            if not side.leaves():
                return
            outputs = side.differentiable()
            if outputs:
                probe.phase("backward")
                side.backward(outputs, entry_run.cotangents_for(outputs))

        return work

    return work_of


def database(only, few):
    """Runs the operator database."""
    import entry_run
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    for entry in op_db:
        if torch.float32 not in entry.supported_dtypes("cpu") or not re.search(only, entry.full_name):
            continue
        run = entry_run.EntryRun(entry, {"dtype": "float32", "samples": few, "values": False, "strides": False,
                                         "tolerance": None})
        for number, sample in enumerate(run.samples()):
            if entry_run.names_device(sample):
                yield Pair(f"{entry.full_name} {number}", sample_work(entry_run, entry, sample))


def trainings(only):
    """Runs whole trainings."""
    import some_trainings
    for name, work_of in some_trainings.ALL.items():
        if re.search(only, name):
            yield Pair(name, work_of)


def main():
    arguments = options()
    warnings.simplefilter("ignore")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ledger.jsonl")
        os.environ.update(HIGHWATER_SIM_LEDGER=path, PYTORCH_ENABLE_MPS_FALLBACK="1")
        global ledger_account
        import ledger_account
        import python_probe as probe
        import torch
        torch.set_num_threads(1)
        torch.backends.cuda.enable_flash_sdp(False)
        probe.begin()
        pairs = list(trainings(arguments.only)) + list(database(arguments.only, arguments.few))
        probe.end()
        probe.finish_device()
        ledger = ledger_account.Ledger(path)
    problems = {each.name: each.problem(ledger) for each in pairs}
    problems = {name: text for name, text in problems.items() if text}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(problems, file, indent=1)
    for name, text in problems.items():
        print(f"{name}: {text}")
    events = Counter(event.kind for pair in pairs for event in pair.runs["monitor"].events)
    raised = sum(pair.runs["monitor"].error is not None for pair in pairs)
    print(f"{len(pairs)} runs, of which {raised} raise; {len(problems)} differ; in "
          f"{time.monotonic() - started:.0f} s; events: "
          + ", ".join(f"{kind} {count}" for kind, count in sorted(events.items())))
    least = 0 if arguments.only else LEAST_RUNS.get(arguments.few, 0)
    if least and (len(pairs) - raised < least or set(events) != KINDS):
        print(f"a whole run has {least} runs and all of {sorted(KINDS)} at least")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
