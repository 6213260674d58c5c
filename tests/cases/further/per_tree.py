"""Report: https://github.com/Kaixhin/Rainbow/pull/33, "Improve the replay memory to avoid storing the autograd graphs in
it" (2018-10-22): mem.update_priorities(idxs, loss.detach()) made the training two to three times slower. The sum tree
holds numbers on the device: each node is updated by a tiny op, each comparison on the way down a tree is read.

A perfect profiler says
  steps          30; batch 16
  first finding  the host waits over 100 times a step for a comparison of one number (line 43, in get of the sum tree):
                 the priorities are tensors on the device (update_priorities, line 94); bring the losses to the host
                 once a step (loss.detach().cpu().numpy() or tolist()) and keep the tree on the host
  never          log less (the loss is read each tenth step), a larger batch, the environment or the loader
"""
import random

import numpy as np
import torch
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.tree = [0.0] * (2 * capacity - 1)
        self.data = [None] * capacity
        self.index = 0

    def update(self, index, value):
        self.tree[index] = value
        while index > 0:
            index = (index - 1) // 2
            self.tree[index] = self.tree[2 * index + 1] + self.tree[2 * index + 2]

    def append(self, item, value):
        self.data[self.index] = item
        self.update(self.index + self.capacity - 1, value)
        self.index = (self.index + 1) % self.capacity

    def get(self, value):
        index = 0
        while 2 * index + 1 < len(self.tree):
            left = 2 * index + 1
            if value <= self.tree[left]:
                index = left
            else:
                value = value - self.tree[left]
                index = left + 1
        return index, self.data[index - self.capacity + 1]


class PrioritizedReplay:
    def __init__(self, capacity=256):
        self.transitions = SumTree(capacity)

    def sample(self, n):
        segment = self.transitions.tree[0] / n
        picks = [self.transitions.get(segment * (i + random.random())) for i in range(n)]
        idxs, items = zip(*picks)
        columns = [torch.from_numpy(np.stack(c)).to(device) for c in zip(*items)]
        return idxs, columns

    def update_priorities(self, idxs, priorities):
        for idx, priority in zip(idxs, priorities ** 0.5 + 1e-3):
            self.transitions.update(idx, priority)


def transition(rng):
    return (rng.normal(size=32).astype(np.float32), np.int64(rng.integers(6)), np.float32(rng.normal()),
            rng.normal(size=32).astype(np.float32))


torch.manual_seed(0)
random.seed(0)
rng = np.random.default_rng(0)
mem = PrioritizedReplay()
for _ in range(256):
    mem.transitions.append(transition(rng), 1.0)
online = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 6)).to(device)
target = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 6)).to(device)
target.load_state_dict(online.state_dict())
optimiser = torch.optim.Adam(online.parameters(), lr=6.25e-5, eps=1.5e-4)

for t in range(30):
    for _ in range(4):
        mem.transitions.append(transition(rng), 1.0)
    idxs, (states, actions, rewards, next_states) = mem.sample(16)
    q = online(states).gather(1, actions[:, None]).squeeze(1)
    with torch.no_grad():
        q_next = rewards + 0.99 * target(next_states).max(1)[0]
    loss = (q - q_next) ** 2
    online.zero_grad()
    loss.mean().backward()
    optimiser.step()
    mem.update_priorities(idxs, loss.detach())
    if (t + 1) % 10 == 0:
        target.load_state_dict(online.state_dict())
        print("T =", t + 1, "| loss", loss.mean().item())

# Measured (simulated device, machine loaded, twin in twin/per_tree.py): 16.0 ms a step (p50), priorities on the host 1.9 ms.
