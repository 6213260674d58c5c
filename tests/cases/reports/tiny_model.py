"""Report: pytorch/pytorch issue 122973, "mps training is slower than cpu" (2024-03-29); scverse/scvi-tools pull request
3981 (2026-09-06) explains such steps: bound by the launching of their ops, so that a larger batch hardly costs more.

A transformer of width 18 on MPS: nearly 400 ops a step, each far smaller than what it takes to queue it.

A perfect profiler says
  steps          60; batch 32, no sequence length (of length 1: the script adds the dimension)
  first finding  the device waits for the host: ops are queued more slowly than they run, evenly in forward, backward
                 and optimizer; a larger batch, or the CPU for a model as small as this
  never          torch.compile (slower than eager on MPS), workers
  waits          1, after the last step
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(d_model=18, nhead=3, dim_feedforward=64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(18, 1), nn.ReLU())

    def forward(self, rows):
        return self.head(self.encoder(rows))


def main():
    model = Rows().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    rows, target = torch.rand(1920, 18, device=device), torch.randint(2, (1920,), device=device).float()
    for step in range(60):
        part = slice(step * 32, step * 32 + 32)
        loss = nn.functional.mse_loss(model(rows[part, None]).flatten(), target[part])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=100)
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
