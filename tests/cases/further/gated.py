"""Report: pytorch/pytorch issue 25340 (2019-08-28)."""
import numpy as np
import torch
from torch import nn
from torch.autograd import Function

device = "mps" if torch.backends.mps.is_available() else "cpu"


class SoftClip(Function):
    """tanh-like squashing with a learnt scale per channel, with our own gradient."""

    @staticmethod
    def forward(ctx, x, scale):
        y = scale * torch.tanh(x / scale)
        ctx.y = y
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad):
        ratio = ctx.y / ctx.scale
        slope = 1 - ratio * ratio
        reduce = [d for d in range(grad.dim()) if ctx.scale.shape[d] == 1]
        return grad * slope, (grad * ratio).sum(dim=reduce, keepdim=True)


class Squash(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.full((1, channels, 1), 2.0))

    def forward(self, x):
        return SoftClip.apply(x, self.scale)


class EcgNet(nn.Module):
    def __init__(self, width=32, classes=5):
        super().__init__()
        layers, c = [], 12
        for k in (7, 5, 5, 3):
            layers += [nn.Conv1d(c, width, k, stride=2, padding=k // 2), nn.BatchNorm1d(width), Squash(width)]
            c = width
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=-1))


def ecg_batches(steps, batch=32, length=1000):
    rng = np.random.default_rng(1)
    t = np.linspace(0, 10, length, dtype="float32")
    for _ in range(steps):
        label = rng.integers(0, 5, batch)
        rate = 1 + 0.2 * label[:, None, None] + rng.normal(0, 0.02, (batch, 1, 1))
        lead = rng.normal(1, 0.1, (batch, 12, 1))
        x = lead * np.sin(2 * np.pi * rate * t) + rng.normal(0, 0.1, (batch, 12, 1)) 
        yield torch.from_numpy(x.astype("float32")), torch.from_numpy(label)


def main(steps=160):
    torch.manual_seed(0)
    net = EcgNet().to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    lossfn = nn.CrossEntropyLoss()
    total, seen = torch.zeros((), device=device), 0
    for i, (x, y) in enumerate(ecg_batches(steps), 1):
        x, y = x.to(device), y.to(device)
        loss = lossfn(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.detach()
        seen += 1
        if i % 40 == 0:
            print(f"{i:4d}  {total.item() / seen:.4f}")
            total.zero_()
            seen = 0


main()
