"""An embedding with a bonus for what is far from all embeddings so far. A list keeps them (22), and each step compares all
of them with each other (30): the device has more to do in each step than in the one before.
"""
import torch
import torch.nn as nn

device = torch.device("mps")
torch.manual_seed(0)

model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
states = torch.randn(64, 16, 32).to(device)


class Archive:
    """What has been seen, newest last."""

    def __init__(self):
        self.seen = []

    def add(self, embedded):
        self.seen.append(embedded.detach())

    def novelty(self, embedded):
        seen = torch.stack(self.seen).flatten(0, 1)
        return (embedded[:, None] - seen[None]).square().sum(2).min(1).values.mean()

    def spread(self):
        seen = torch.stack(self.seen).flatten(0, 1)
        return (seen[:, None] - seen[None]).square().sum(2).mean()


archive = Archive()
for step in range(60):
    embedded = model(states[step])
    archive.add(embedded)
    loss = embedded.square().mean() - 0.01 * archive.novelty(embedded) / archive.spread()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
