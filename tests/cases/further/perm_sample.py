"""Report: https://github.com/AgileRL/AgileRL/pull/541, "Optimize replay buffer loops and sampling" (2026-06-16: uniform sampling made a
randperm of the whole buffer for each batch, "randperm-always"); also https://github.com/DeepX-inc/machina/issues/179.

A DQN whose replay memory lies on the device. To take 128 transitions, all 1,000,000 indices are shuffled, each step.

A perfect profiler says
  steps          40; batch 128
  first finding  torch.randperm over the whole buffer takes most of the device's time, line PERM, once a step, for 128 of
                 1,000,000 indices; use torch.randint(size, (batch,), device=...)
  not said       waits (the loss is read once, at the end), host-bound, memory growth (the buffer is allocated once)
"""
import copy

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class ReplayMemory:
    def __init__(self, size, states):
        self.size = size
        self.state = torch.randn(size, states, device=device)
        self.following = torch.randn(size, states, device=device)
        self.action = torch.randint(4, (size,), device=device)
        self.reward = torch.randn(size, device=device)

    def sample(self, batch):
        chosen = torch.randperm(self.size, device=device)[:batch]  # PERM
        return self.state[chosen], self.action[chosen], self.reward[chosen], self.following[chosen]


class QNetwork(nn.Module):
    def __init__(self, states, actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(states, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                                    nn.Linear(128, actions))

    def forward(self, state):
        return self.layers(state)


def learn(network, target, optimizer, batch):
    state, action, reward, following = batch
    with torch.no_grad():
        wanted = reward + 0.99 * target(following).amax(1)
    value = network(state).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    memory = ReplayMemory(1_000_000, 8)
    network = QNetwork(8, 4).to(device)
    target = copy.deepcopy(network).requires_grad_(False)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for update in range(40):
        loss = learn(network, target, optimizer, memory.sample(128))
        if update % 20 == 19:
            target.load_state_dict(network.state_dict())
    print(f"last loss {loss.item():.4f}")


main()
