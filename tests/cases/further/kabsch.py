"""Report: https://github.com/pytorch/pytorch/issues/4634, comment of 2019-04-27: SVD on each batch of a training is ten
times slower on the GPU than on the CPU; on a Mac with the warning of https://github.com/pytorch/pytorch/issues/125537
(2024-05-04): "aten::linalg_svd is not currently supported on the MPS backend and will fall back to run on the CPU".

Structures are laid upon their targets (Kabsch) before the loss: one SVD of a 3 x 3 matrix for each of the batch.

A perfect profiler says
  steps          40; batch 16
  first finding  linalg_svd runs on the CPU, 16 times a step (line 25, called for each structure, line 35): each waits
                 for the queue and copies there and back; one call for the whole batch (svd takes [16, 3, 3]), and on the
                 CPU once a step
  never          log less (the loss is read each tenth step), a larger batch, the loader
"""
import os

os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
import torch
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def kabsch_rotation(mobile, target):
    """The rotation that lays mobile [atoms, 3] upon target [atoms, 3], both centred."""
    u, s, vt = torch.linalg.svd(mobile.t() @ target)
    return u @ vt


def aligned_mse(pred, true):
    total = 0.0
    for p, t in zip(pred, true):
        p = p - p.mean(0, keepdim=True)
        t = t - t.mean(0, keepdim=True)
        with torch.no_grad():
            rotation = kabsch_rotation(t, p)
        total = total + ((t @ rotation - p) ** 2).sum(-1).mean()
    return total / len(pred)


class StructureModule(nn.Module):
    def __init__(self, residues=64, width=128):
        super().__init__()
        self.embed = nn.Embedding(21, width)
        self.position = nn.Parameter(torch.randn(residues, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 256, dropout=0.0, batch_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, 3)

    def forward(self, sequence):
        return self.head(self.trunk(self.embed(sequence) + self.position))


def main():
    torch.manual_seed(0)
    sequences = torch.randint(0, 21, (128, 64), device=device)
    coords = torch.randn(128, 64, 3, device=device).cumsum(1)
    model = StructureModule().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for it in range(40):
        rows = slice(it % 8 * 16, it % 8 * 16 + 16)
        loss = aligned_mse(model(sequences[rows]), coords[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 10 == 9:
            print(f"[{it + 1}/40] aligned mse {loss.item():.3f}")


if __name__ == "__main__":
    main()

# Measured (simulated device, machine loaded, twin in twin/kabsch.py): 39.7 ms a step (p50), one svd for the batch 28.5 ms; 1.87 s and 1.28 s for all steps.
