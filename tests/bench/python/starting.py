"""Tells how long a process takes until its first optimizer is built, in seconds, as JSON."""
import time

begun = time.clock_gettime(time.CLOCK_BOOTTIME)
before = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402

import torch  # noqa: E402
import torch._dynamo  # noqa: E402  by far the most of what the first optimizer takes, with Highwater or without

imported = time.perf_counter()
parameter = torch.nn.Parameter(torch.zeros(2))
torch.optim.SGD([parameter], lr=0.1)
built = time.perf_counter()
torch.optim.SGD([parameter], lr=0.1).step()


def process_start() -> float:
    """When this process began, on the clock that counts from the boot."""
    with open("/proc/self/stat", encoding="utf-8") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


print(json.dumps({"python": begun - process_start(), "torch": imported - before, "optimizer": built - imported}))
