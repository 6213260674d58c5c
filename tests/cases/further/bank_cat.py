"""Report: https://github.com/KevinMusgrave/pytorch-metric-learning/issues/421 (2022-02-09: with a cross-batch memory "the memory usage
slowly increases as training progresses"), and https://github.com/ulissigroup/amptorch/issues/12 (torch.cat onto what there is copies
it all, each time).

Contrastive training with a bank of earlier embeddings as negatives. self.limit is never used: each step's embeddings are
appended by torch.cat and none is dropped. The bank is detached: no graph is kept.

A perfect profiler says
  steps          60; batch 256
  first finding  memory grows by 256 x 256 x 4 = 256 KiB a step, 15 MiB at the end, line CAT (the bank); and each step takes longer
                 than the one before, since the scores against the bank (line SCORES) have 256 more columns each step (the last:
                 256 x 15,360); keep the newest self.limit rows
  not said       that a graph is kept or that .detach() helps (it is detached), that the inputs vary in shape
"""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
BATCH, WIDTH = 256, 256


class Bank:
    def __init__(self, limit=2048):
        self.limit = limit
        self.rows = torch.empty(0, WIDTH, device=device)

    def add(self, embeddings):
        self.rows = torch.cat([self.rows, embeddings.detach()])  # CAT


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, WIDTH)

    def forward(self, x):
        return nn.functional.normalize(self.head(self.body(x)), dim=1)


def contrast(one, other, bank, temperature=0.1):
    positive = (one * other).sum(1, keepdim=True)
    negative = one @ bank.t()  # SCORES
    logits = torch.cat([positive, negative], 1) / temperature
    return nn.functional.cross_entropy(logits, torch.zeros(len(one), dtype=torch.long, device=one.device))


def main():
    model = Encoder().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    samples = torch.randn(BATCH * 8, 128, device=device)
    bank = Bank()
    for step in range(60):
        start = step % 8 * BATCH
        batch = samples[start:start + BATCH]
        one = model(batch + 0.1 * torch.randn_like(batch))
        other = model(batch + 0.1 * torch.randn_like(batch))
        loss = contrast(one, other, bank.rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bank.add(other)
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.3f}")


main()
