"""Report: https://github.com/pytorch/pytorch/pull/195273, "[MPS] Add adaptive_avg_pool3d" (2026-08-29: asked for five
times, once for its backward); with PYTORCH_ENABLE_MPS_FALLBACK=1 3D images are "extremely slow"
(https://github.com/pytorch/pytorch/issues/158723, 2025-07-20, of another pooling).

A network for volumes ends in a pyramid of adaptive poolings, which MPS lacks. Run with PYTORCH_ENABLE_MPS_FALLBACK=1:
the features go to the CPU twice a step, and their gradients twice, and each time the host waits for the queue. PyTorch
warns once.

A perfect profiler says
  steps          30; batch 4, no sequence length
  first finding  fallback of aten::_adaptive_avg_pool3d, line POOL, 2 a step, and of its backward, 2 a step: the sizes
                 divide evenly here, so avg_pool3d (or reshape and mean) does the same on the device
  never          the advice for logging
  waits          those of the fallbacks and the moves of the batch; the loss after the last step
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Volumes(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv3d(1, 8, 3, stride=2, padding=1), nn.BatchNorm3d(8), nn.ReLU(),
            nn.Conv3d(8, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU())
        self.pyramid = nn.ModuleList([nn.AdaptiveAvgPool3d(2), nn.AdaptiveAvgPool3d(4)])
        self.head = nn.Sequential(nn.Linear(16 * (8 + 64), 64), nn.ReLU(), nn.Linear(64, kinds))

    def forward(self, scans):
        features = self.features(scans)
        levels = [pool(features).flatten(1) for pool in self.pyramid]  # POOL
        return self.head(torch.cat(levels, 1))


def train(model, loader, optimizer, epochs):
    model.train()
    for _ in range(epochs):
        for scans, kinds in loader:
            scans, kinds = scans.to(device), kinds.to(device)
            loss = nn.functional.cross_entropy(model(scans), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


def main():
    data = TensorDataset(torch.rand(60, 1, 32, 32, 32), torch.randint(3, (60,)))
    model = Volumes(3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    print(f"loss {train(model, DataLoader(data, batch_size=4, shuffle=True), optimizer, 2):.3f}")


if __name__ == "__main__":
    main()
