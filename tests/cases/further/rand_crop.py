"""Report: https://github.com/kornia/kornia/issues/2175, "RandomCrop is slow" (2023-01-25): it is as slow as libraries that go
through the pictures one by one; the report has the batched crop (gather) beside it.

Reinforcement learning from pixels (as in DrQ and CURL): each picture of the batch is cropped at its own place, sometimes
mirrored, and made darker or brighter, by a loop on the device: some 320 tiny kernels a step. The network is small.

A perfect profiler says
  steps          40; batch 128
  first finding  the device waits for the host, which queues the ops of random_crop one by one: lines 26 to 31 (128 times
                 a crop, a flip, a product), more than half of the step's ops; crop the whole batch at once by indexing or gather
  never          a larger batch (the loop grows with it), reads, the optimizer as cause, the loader, memory
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")


def random_crop(images, size=28):
    out = []
    for img in images:
        top, left = random.randint(0, 4), random.randint(0, 4)
        patch = img[:, top:top + size, left:left + size]
        if random.random() < 0.5:
            patch = patch.flip(-1)
        patch = patch * random.uniform(0.8, 1.2) + random.uniform(-0.1, 0.1)
        out.append(patch)
    return torch.stack(out)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc = nn.Linear(16 * 6 * 6, 64)
        self.q = nn.Linear(64, 6)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.q(F.relu(self.fc(x.flatten(1))))


random.seed(1)
torch.manual_seed(1)
memory = torch.rand(1000, 3, 32, 32, device=device)
actions = torch.randint(0, 6, (1000,), device=device)
rewards = torch.randn(1000, device=device)

q_net, target = Encoder().to(device), Encoder().to(device)
target.load_state_dict(q_net.state_dict())
optim = torch.optim.Adam(q_net.parameters(), lr=1e-4)

for update in range(40):
    idx = torch.randint(0, 1000, (128,), device=device)
    nxt = (idx + 1) % 1000
    obs = random_crop(memory[idx])
    with torch.no_grad():
        next_q = target(memory[nxt][:, :, 2:30, 2:30]).max(1).values
        goal = rewards[idx] + 0.99 * next_q
    q = q_net(obs).gather(1, actions[idx][:, None]).squeeze(1)
    loss = F.smooth_l1_loss(q, goal)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if update % 20 == 19:
        target.load_state_dict(q_net.state_dict())
print("last loss", loss.item())
