"""Report: https://github.com/deepset-ai/FARM/issues/229 (2020-02-01, a regression: target torch.Size([32, 1]), input torch.Size([32]))
and https://github.com/andrewgcodes/xlstm/issues/4 (2024-06-28): the shapes of prediction and target differ by one dimension, and
MSELoss broadcasts them: N x N differences instead of N. With a large batch, as tables allow, that is what fills the memory.

Run with HIGHWATER_SIM_RECOMMENDED_MAX=64MiB, of which 1.7 times are allowed: 108.8 MiB. The network needs a few MiB at
this batch; the loss wants 6144 x 6144 x 4 bytes = 144 MiB in one tensor.

A perfect profiler says
  steps          0; exit code 1
  first finding  out of memory in step 1, in the loss, line 48: one tensor of 144 MiB, (6144, 6144), though prediction and
                 target have 6144 numbers: shapes (6144, 1) and (6144) are broadcast; use pred.squeeze(1) or y[:, None].
                 It must at least name the line, the op and the 6144 x 6144
  never          that activations of the model or the optimizer's state fill the memory; checkpointing, mixed precision;
                 a smaller batch as the only advice
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class HousePrices(nn.Module):
    def __init__(self, features=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def make_data(n=6144 * 5):
    x = torch.randn(n, 24)
    price = x[:, 0] * 3 + x[:, 1] ** 2 - x[:, 2] * x[:, 3] + 0.1 * torch.randn(n)
    return TensorDataset(x, price)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = torch.zeros((), device=device)
    for x, price in loader:
        x, price = x.to(device), price.to(device)
        optimizer.zero_grad()
        pred = model(x)
        loss = criterion(pred, price)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item() / len(loader)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=6144, shuffle=True)
    model = HousePrices().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        print(f"epoch {epoch}: mse {train_epoch(model, loader, criterion, optimizer):.4f}")
