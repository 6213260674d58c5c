"""Report: https://github.com/snap-stanford/SATURN/pull/97, "Minor fixes to enable training on Apple Silicon (MPS)"
(2026-06-03): torch.autograd.set_detect_anomaly(True) had been left on in the metric-learning loop; on a Mac it makes
the host wait for the device at each op of backward.

Triplets of cells pass through a small encoder. Anomaly mode was switched on once, to look for a NaN, and stayed.

A perfect profiler says
  steps          40; batch 96 (three times 32), no sequence length
  first finding  anomaly mode is on (line ANOMALY): autograd reads after each op of backward (line BACKWARD) whether its
                 gradient is NaN, dozens of waits a step; switch it off, and on only to look for a NaN
  never          the advice for logging: the script reads nothing in a step; a larger batch, torch.compile
  waits          those in backward, and the loss after the last step; fallbacks none; memory flat
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
GENES, WIDTH, TRIPLETS = 200, 64, 32


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(GENES, WIDTH)]
        for _ in range(6):
            layers += [nn.LayerNorm(WIDTH), nn.ReLU(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH)]
        self.layers = nn.Sequential(*layers)

    def forward(self, cells):
        return nn.functional.normalize(self.layers(cells), dim=1)


def triplets(cells, kinds, count):
    """Rows of an anchor, of another cell of its kind, and of a cell of another kind."""
    anchor = torch.randint(len(cells), (count,))
    same = (anchor + kinds) % len(cells)
    other = (anchor + torch.randint(1, kinds, (count,))) % len(cells)
    return torch.cat([cells[anchor], cells[same], cells[other]])


def main():
    torch.autograd.set_detect_anomaly(True)  # ANOMALY
    model = Encoder().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    margin = nn.TripletMarginLoss(margin=0.2)
    cells = torch.rand(640, GENES)
    for _ in range(40):
        batch = triplets(cells, 8, TRIPLETS).to(device)
        anchor, same, other = model(batch).chunk(3)
        loss = margin(anchor, same, other)
        optimizer.zero_grad()
        loss.backward()  # BACKWARD
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
