"""Report: https://github.com/pytorch/pytorch/issues/96814, "PYTORCH_MPS_HIGH_WATERMARK_RATIO seems to have no effect"
(2023-03-15): out of memory, as before, although the script sets the variable as the message tells; it was too late.

Run with HIGHWATER_SIM_RECOMMENDED_MAX=64MiB, of which 1.7 times are allowed: 108.8 MiB. The first batch of 64 pictures
keeps about 24 MiB in each of seven blocks.

A perfect profiler says
  steps          0; exit code 1
  first finding  out of memory in step 1 at batch 64 of 32 x 32, line FORWARD: what the blocks keep for backward does not
                 fit; a smaller batch
  also           the variable that is set in line RATIO came after `import torch` and had no effect: the limit was 1.7;
                 set it before the program starts (and know that a Mac then swaps)
  never          a leak or growth: there was one step; "set PYTORCH_MPS_HIGH_WATERMARK_RATIO" without a word of line RATIO
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import os

os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.0"  # RATIO

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


def block(channels, width):
    return nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.GELU())


class Pictures(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.blocks = nn.Sequential(block(3, width), *(block(width, width) for _ in range(6)))
        self.head = nn.Linear(width, 10)

    def forward(self, pictures):
        return self.head(self.blocks(pictures).mean((2, 3)))


def main():
    data = TensorDataset(torch.rand(192, 3, 32, 32), torch.randint(10, (192,)))
    model = Pictures().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for pictures, labels in DataLoader(data, batch_size=64, shuffle=True):
        scores = model(pictures.to(device))  # FORWARD
        loss = nn.functional.cross_entropy(scores, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
