"""Report: https://github.com/meta-pytorch/LeanRL/issues/16, "Super slow on Mac MPS" (2024-11-12): reinforcement learning
is much slower on MPS than on the CPU, and even collecting the data is (comment of 2024-11-14); the same in
https://github.com/DLR-RM/stable-baselines3/issues/914 (comment of 2023-06-03).

After each update the agent acts once: one observation goes to the device, one action comes back, and the host waits for
the whole update that was queued before. The network is tiny.

A perfect profiler says
  steps          60; batch 64, no sequence length
  first finding  acting makes the host wait in each step: lines OBSERVE (a copy of three numbers to the device, which
                 waits for the update) and ACT (the action is read); act with a copy of the network on the CPU, in
                 several environments at once, or train it all on the CPU
  never          the advice for logging: without the action there is no next state; torch.compile
  waits          2 a step for acting, and the move of the batch; 1 read after the last step
"""
import copy
import math
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
FORCES = (-2.0, 0.0, 2.0)


class Pendulum:
    def __init__(self):
        self.angle, self.speed = random.uniform(-math.pi, math.pi), 0.0

    def state(self):
        return [math.cos(self.angle), math.sin(self.angle), self.speed]

    def move(self, action):
        self.speed += 0.05 * (15.0 * math.sin(self.angle) + 3.0 * FORCES[action])
        self.speed = max(-8.0, min(8.0, self.speed))
        self.angle = (self.angle + 0.05 * self.speed + math.pi) % (2 * math.pi) - math.pi
        return self.state(), -self.angle ** 2 - 0.1 * self.speed ** 2


def choose(network, state, explore):
    if random.random() < explore:
        return random.randrange(len(FORCES))
    with torch.no_grad():
        observation = torch.tensor([state], device=device)  # OBSERVE
        return network(observation).argmax(1).item()  # ACT


def main():
    network = nn.Sequential(nn.Linear(3, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                            nn.Linear(256, len(FORCES))).to(device)
    target = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    memory, world = [], Pendulum()
    state = world.state()
    for turn in range(188):
        action = choose(network, state, 1.0 if turn < 128 else 0.02)
        following, reward = world.move(action)
        memory.append([*state, action, reward, *following])
        state = following
        if turn < 128:
            continue
        batch = torch.tensor(random.sample(memory, 64)).to(device)
        with torch.no_grad():
            aim = batch[:, 4] + 0.99 * target(batch[:, 5:]).amax(1)
        value = network(batch[:, :3]).gather(1, batch[:, 3:4].long()).flatten()
        loss = nn.functional.smooth_l1_loss(value, aim)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if turn % 20 == 0:
            target.load_state_dict(network.state_dict())
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
