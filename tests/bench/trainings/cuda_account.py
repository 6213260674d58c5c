#!/usr/bin/env python3
"""Writes what trainings take on a CUDA device, by PyTorch's own allocator there: the truth of tests/tuning/tst_cuda_peaks.

Each training is run afresh at several batch sizes. Of its settled steps the peaks of allocated and reserved memory are
written, as torch.cuda.max_memory_allocated() and max_memory_reserved() say; of the smaller batches also each allocation
of two steps, with the bytes that were freed before it, as torch.cuda.memory records them. A step ends with its last
optimizer.step(). Needs transformers and peft.
"""
import argparse
import concurrent.futures
import json
import os
import runpy
import subprocess
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON_PACKAGE = os.path.join(HERE, "..", "..", "..", "src", "python")
TRAININGS = ["gpt2", "lora", "resnet", "vit", "detector", "lstm", "gan", "checkpointed"]
OPTIMIZERS = {"gan": 2}
STEPS, FIRST_TRACED, TRACED = 9, 4, 2


def requests(entries, freed):
    """Each allocation as [bytes, bytes freed since the one before], and the bytes freed since the last."""
    allocations = []
    for entry in entries:
        if entry["action"] == "free_requested":
            freed += entry["size"]
        elif entry["action"] == "alloc":
            allocations.append([entry["size"], freed])
            freed = 0
    return allocations, freed


class Account:
    def __init__(self, optimizers, traced):
        self.optimizers, self.traced = optimizers, traced
        self.calls, self.step, self.seen, self.freed = 0, 0, 0, 0
        self.peaks, self.traces, self.base, self.left = [], [], 0, 0

    def entries(self):
        return torch.cuda.memory._snapshot()["device_traces"][0]

    def after_optimizer(self, *_):
        self.calls += 1
        if self.calls % self.optimizers:
            return
        torch.cuda.synchronize()
        self.step += 1
        if self.step > 2:
            self.peaks.append((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
        if self.traced and self.step == FIRST_TRACED - 1:
            torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
            self.base = torch.cuda.memory_allocated()
        elif self.traced and FIRST_TRACED <= self.step < FIRST_TRACED + TRACED:
            entries = self.entries()
            allocations, self.freed = requests(entries[self.seen:], self.freed)
            self.traces.append(allocations)
            self.seen = len(entries)
        if self.traced and self.step == FIRST_TRACED + TRACED - 1:
            torch.cuda.memory._record_memory_history(enabled=None)
        torch.cuda.reset_peak_memory_stats()
        self.left = torch.cuda.memory_allocated()


def one(name, batch, traced):
    account = Account(OPTIMIZERS.get(name, 1), traced)
    register_optimizer_step_post_hook(account.after_optimizer)
    sys.argv = [name + ".py", "--batch-size", str(batch), "--steps", str(STEPS)]
    sys.path[:0] = [HERE, PYTHON_PACKAGE]
    sys.stdout = sys.stderr
    runpy.run_path(os.path.join(HERE, name + ".py"), run_name="__main__")
    sys.stdout = sys.__stdout__
    print(json.dumps({"batch": batch, "allocated": max(peak for peak, _ in account.peaks),
                      "reserved": max(peak for _, peak in account.peaks), "left": account.left,
                      **({"base": account.base, "steps": account.traces} if traced else {})}))


def account_of(name, first):
    """What the training takes at each batch size, each in a process of its own."""
    settings = []
    for times in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
        command = [sys.executable, __file__, "--one", name, str(times * first), str(int(times in (1, 3)))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name} at batch {times * first}: {done.stderr[-600:]}")
        settings.append(json.loads(done.stdout))
    return {"name": name, "settings": settings}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=16, help="the smallest batch; others are multiples of it")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "BATCH", "TRACED"), help="a training at a batch, alone")
    parser.add_argument("--output", default="cuda_account.json")
    parser.add_argument("names", nargs="*", default=TRAININGS)
    options = parser.parse_args()
    if options.one:
        name, batch, traced = options.one
        return one(name, int(batch), traced == "1")
    written = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        written["trainings"] = list(pool.map(lambda name: account_of(name, options.first), options.names))
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(written, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
