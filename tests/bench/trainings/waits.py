"""A classifier that reads from the device in each step, in one of seven ways; with --fixed not at all, or rarely.

Prints the milliseconds of a step by its own clock, without the first steps: the median of blocks of 20, each between two
points at which the device has nothing to do.
"""
import argparse
import statistics
import time

import highwater_mps as highwater
import torch
from common import device
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--kind", choices=["item", "metric", "copy", "condition", "synchronize", "empty", "knob"], required=True)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--host-ms", type=float, default=4, help="time that the host computes in each step")
parser.add_argument("--steps", type=int, default=700)
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()
_WARM_UP, _BLOCK = 60, 20

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
                      nn.Linear(args.width, 8)).to(device())
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows, labels = torch.randn(128, 256).to(device()), torch.randint(8, (128,)).to(device())
losses, right, seen, skipped = [], 0, [], 0
blocks, begin = [], None
for step in range(args.steps):
    if step >= _WARM_UP and step % _BLOCK == 0:
        torch.mps.synchronize()
        now = time.perf_counter()
        if begin:
            blocks.append((now - begin) / _BLOCK)
        begin = now
    outputs = model(rows)
    loss = nn.functional.cross_entropy(outputs, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if args.kind == "knob":
        every = highwater.knob("every", 20 if args.fixed else 1, min=1, max=100)
        if step % every == 0:
            right += (model(rows.repeat(2, 1)).argmax(1)[:128] == labels).sum().item()
    elif not args.fixed:
        if args.kind == "item":
            losses.append(loss.item())
        elif args.kind == "metric":
            right += (outputs.argmax(1) == labels).sum().item()
        elif args.kind == "copy":
            seen.append(outputs.detach().cpu())
        elif args.kind == "condition":
            if loss > 1e9:
                skipped += 1
        elif args.kind == "empty":
            torch.mps.empty_cache()
        else:
            torch.mps.synchronize()
    until = time.perf_counter() + args.host_ms / 1000
    while time.perf_counter() < until:
        pass
print("step", 1000 * statistics.median(blocks) if blocks else "unknown")
