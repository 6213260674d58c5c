"""Report: https://github.com/ultralytics/ultralytics/pull/24222, "Fix unbounded RAM growth during MPS training"
(2026-04-14): memory grows from batch to batch, though all pictures have the same size, and torch.mps.empty_cache() does not get all of
it back; what varies are the targets: each batch is padded to its own largest number of boxes. Fixed shapes end it.

Run with HIGHWATER_SIM_GRAPH_CACHE=512KiB: what MPSGraph keeps for each new op and shape.

A perfect profiler says
  steps          40; batch 8, no sequence length; 8 x 3 x 64 x 64 in each step
  first finding  driver memory grows with each new shape while live tensors stay flat: not the model's input varies, but
                 the targets in the loss, line PAD (their ops: lines SHARE to PICK); pad to a fixed number of boxes, or to
                 one of a few
  never          a leak of the script's: current at the ends of the steps is flat; a larger batch
  waits          the moves of the batch; the loss after the last step
"""
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
CELLS = 64


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU(),
                                    nn.Conv2d(32, 4, 3, 2, 1))

    def forward(self, pictures):
        return self.layers(pictures).flatten(2).transpose(1, 2)  # [batch, cells, corners]


def collate(boxes):
    """Boxes of each picture, padded to the most that one of them has, and which are real."""
    most = max(len(each) for each in boxes)
    padded, real = torch.zeros(len(boxes), most, 4), torch.zeros(len(boxes), most)  # PAD
    for row, each in enumerate(boxes):
        padded[row, :len(each)], real[row, :len(each)] = each, 1.0
    return padded, real


def box_loss(found, boxes, real):
    distance = (found[:, :, None] - boxes[:, None]).abs().sum(-1)  # SHARE
    nearest = distance.amin(1)
    return (nearest * real).sum() / real.sum()  # PICK


def main():
    model = Detector().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(40):
        pictures = torch.rand(8, 3, 64, 64)
        boxes, real = collate([torch.rand(random.randint(1, 90), 4) for _ in range(8)])
        loss = box_loss(model(pictures.to(device)), boxes.to(device), real.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
