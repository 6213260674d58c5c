"""Channels come before the length: batch, channels, length."""
import torch
from torch import nn

model = nn.Sequential(nn.Conv1d(40, 4, 3), nn.ReLU(), nn.Conv1d(4, 1, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for frames in (50, 60, 70):
    optimizer.zero_grad()
    model(torch.ones(4, 40, frames)).square().mean().backward()
    optimizer.step()
