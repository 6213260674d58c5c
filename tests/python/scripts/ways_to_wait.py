"""Each way to wait for the device has a line here, and so have calls that look as if they waited.

Prints a JSON list of [line, begin, end], in ns of the clock that the simulated device's ledger has too.
"""
import json
import sys
import threading
import time

import torch
from torch.mps import synchronize

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.rand(16, 64, device="mps")
first, second = (torch.mps.Event(enable_timing=True) for _ in range(2))
third, fourth = (torch.Event("mps", enable_timing=True) for _ in range(2))
state = torch.mps.get_rng_state()
lines = []


class Queued:
    """Queues work, and notes the line of a `with` with the time that it takes."""

    def __enter__(self):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        self.begin = time.monotonic_ns()

    def __exit__(self, *_):
        lines.append([sys._getframe(1).f_lineno, self.begin, time.monotonic_ns()])


def synchronize_here():
    with Queued(): torch.mps.synchronize()


for step in range(5):
    with Queued(): torch.mps.synchronize()
    with Queued(): synchronize()
    with Queued(): torch._C._mps_deviceSynchronize()
    with Queued(): torch.mps.empty_cache()
    with Queued(): torch.accelerator.synchronize()
    with Queued(): getattr(torch.accelerator, "empty_cache", torch.mps.empty_cache)()
    with Queued(): torch.accelerator.current_stream().synchronize()
    with Queued(): first.record(), second.record(), second.synchronize()
    with Queued(): second.record(), first.elapsed_time(second)
    with Queued(): third.record(), fourth.record(), fourth.synchronize()
    with Queued(): fourth.record(), third.elapsed_time(fourth)
    with Queued(): torch.mps.get_rng_state()
    with Queued(): torch.mps.set_rng_state(state)
    with Queued(): x.sum().item()
    with Queued(): x[:2].cpu()
    with Queued(): torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory(), second.query()  # queues
    with Queued(): first.record(), first.wait(), torch.mps.manual_seed(step)  # queues
    thread = threading.Thread(target=synchronize_here)
    thread.start()
    thread.join()
    optimizer.step()
model.eval()
with torch.no_grad():
    model(x)
    torch.mps.synchronize()  # evaluates
print(json.dumps(lines))
