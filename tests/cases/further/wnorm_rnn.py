"""Report: https://github.com/pytorch/pytorch/issues/2176, "should weight norm only recompute weights at the beginning and after each
call to backward?" (2017-07-21): "I was having problems applying a similar implementation to RNNs because the weight
recomputation with each call to forward was causing me to run out of memory": O(N^2 s) instead of O(N^2 + N s). FIRST: the weights of i2h and h2h are normalised anew at each of the 24 time steps; to do:
torch.nn.utils.parametrize.cached().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class WNLSTMCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.i2h = weight_norm(nn.Linear(inputs, 4 * hidden))
        self.h2h = weight_norm(nn.Linear(hidden, 4 * hidden))

    def forward(self, x, state):
        h, c = state
        i, f, g, o = (self.i2h(x) + self.h2h(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Forecaster(nn.Module):
    def __init__(self, features=8, hidden=288):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Linear(features, hidden)
        self.cell = WNLSTMCell(hidden, hidden)
        self.head = nn.Linear(hidden, features)

    def forward(self, x):
        state = (x.new_zeros(x.shape[0], self.hidden), x.new_zeros(x.shape[0], self.hidden))
        outputs = []
        for t in range(x.shape[1]):
            h, c = self.cell(torch.relu(self.embed(x[:, t])), state)
            state = (h, c)
            outputs.append(h)
        return self.head(torch.stack(outputs, 1))


def windows(series, length, batch_size):
    """Windows at random places of the series, for ever."""
    g = torch.Generator().manual_seed(0)
    while True:
        starts = torch.randint(0, len(series) - length - 1, (batch_size,), generator=g)
        index = starts[:, None] + torch.arange(length + 1)[None, :]
        batch = series[index]
        yield batch[:, :-1], batch[:, 1:]


torch.manual_seed(0)
series = torch.randn(20000, 8).cumsum(0) * 0.01
model = Forecaster().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
batches = windows(series, length=24, batch_size=16)
for step in range(40):
    x, y = next(batches)
    x, y = x.to(device), y.to(device)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
