"""Report: https://github.com/toshikwa/sac-discrete.pytorch/issues/28, "Memory Leak" (2021-07-21): memory does not stop
growing, in a constant manner. The answer: it is the replay memory, which grows until it is full (as in
https://github.com/MishaLaskin/curl/issues/10, 2020-07-15). Nothing to do.

A perfect profiler says
  steps          60; batch 64
  no finding     the process grows by 1.1 MiB a step until step 25, when the memory is full, and stays from there on; the
                 device is busy, the host is ready long before it
  never          a leak, something keeps memory in each step, the loader or host work, reads
"""
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
rng = np.random.default_rng(0)
torch.manual_seed(0)


class FrameEnv:
    """Frames of 4 x 42 x 42 bytes, of which one changes with each action."""

    def __init__(self):
        self.frame = rng.integers(0, 256, (4, 42, 42), dtype=np.uint8)

    def step(self, action):
        frame = np.roll(self.frame, 1, axis=0)
        frame[0] = np.roll(frame[1], action + 1, axis=1)
        last, self.frame = self.frame, frame
        return last, action, float(frame[0, 0, 0] > 127), frame


class QNet(nn.Module):
    def __init__(self, actions=6):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 32, 4, 2), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                 nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 7 * 7, 256), nn.ReLU(),
                                 nn.Linear(256, actions))

    def forward(self, x):
        return self.net(x.float() / 255)


env = FrameEnv()
memory = deque(maxlen=4000)
online, target = QNet().to(device), QNet().to(device)
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=3e-4)

for step in range(60):
    # 160 random actions for each update: the start of the training explores only
    for action in rng.integers(0, 6, 160):
        memory.append(env.step(int(action)))
    picks = rng.integers(0, len(memory), 64)
    states, actions, rewards, next_states = zip(*(memory[i] for i in picks))
    states = torch.from_numpy(np.stack(states)).to(device)
    next_states = torch.from_numpy(np.stack(next_states)).to(device)
    actions, rewards = torch.tensor(actions).to(device), torch.tensor(rewards).to(device)

    with torch.no_grad():
        goal = rewards + 0.99 * target(next_states).max(1).values
    loss = F.smooth_l1_loss(online(states).gather(1, actions[:, None]).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        target.load_state_dict(online.state_dict())
        print("update", step + 1, "buffer", len(memory), "loss", round(loss.item(), 4))
