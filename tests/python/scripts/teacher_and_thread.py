"""As teacher.py, while another thread computes gradients of a model of its own: they are not looked at then."""
import threading

import torch
from torch import nn

teacher = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2)).eval()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train():
    x = torch.ones(3, 4)
    optimizer.zero_grad()
    (model(x) - teacher(x)).square().mean().backward()
    optimizer.step()


def compute_elsewhere(other):
    other(torch.ones(3, 4)).sum().backward()


train()
thread = threading.Thread(target=compute_elsewhere, args=[nn.Linear(4, 2)])
thread.start()
thread.join()
for _ in range(5):
    train()
