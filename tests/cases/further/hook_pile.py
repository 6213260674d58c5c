"""Report: https://github.com/pytorch/pytorch/issues/191191 ("training gets linearly slower, resets on restart": hooks of the
gradients pile up, one more on each parameter in each step), https://github.com/EleutherAI/bergson/pull/55.
Head: steps become slower, as line 30 registers one more hook of each parameter in each step; register once."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class TimeSeriesNet(nn.Module):
    def __init__(self, channels=8, width=24, horizon=24):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(12):
            self.layers.append(nn.Conv1d(channels if i == 0 else width, width, 3, padding=2 ** (i % 4), dilation=2 ** (i % 4)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            y = F.relu(layer(x))
            x = y if i == 0 else x + y
        return self.head(self.norm(x.mean(2)))


def clip_gradients(model, limit):
    for p in model.parameters():
        p.register_hook(lambda grad: torch.clamp(grad, -limit, limit))


def train(model, loader, optimizer, epochs, limit=0.5):
    for epoch in range(epochs):
        total = torch.zeros((), device=device)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            clip_gradients(model, limit)
            optimizer.zero_grad()
            loss = F.smooth_l1_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print("epoch %d loss %.4f" % (epoch, total.item() / len(loader)))


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1600, 8, 96), torch.randn(1600, 24))
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = TimeSeriesNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, loader, optimizer, epochs=2)


if __name__ == "__main__":
    main()
