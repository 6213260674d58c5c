"""Report: https://github.com/git-disl/recap/issues/2, "Memory usage increases after one iteration on GPU" (2025-02-19):
2400 MB in the first iteration, 2800 MB in all others, is that supposed to happen? The answer: the optimizer's states,
which the first step allocates. Nothing to do.

A perfect profiler says
  steps          2 epochs x 15 = 30; batch 32
  no finding     memory rises in the first step (gradients, then AdamW's moments) and stays; the device is busy; one
                 evaluation, one checkpoint and one read an epoch cost nothing
  never          memory grows, a leak, queueing, reads, empty_cache (once an epoch), the checkpoint
"""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class ViT(nn.Module):
    def __init__(self, dim=192, depth=2, heads=4, patch=8, classes=100):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 17, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 4, dropout=0.0, activation="gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.blocks(x)[:, 0])


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum() for x, y in zip(images.split(64), labels.split(64)))
    model.train()
    return right / len(images)


def main():
    torch.manual_seed(0)
    train_x, train_y = torch.randn(480, 3, 32, 32, device=device), torch.randint(0, 100, (480,), device=device)
    test_x, test_y = torch.randn(128, 3, 32, 32, device=device), torch.randint(0, 100, (128,), device=device)
    model = ViT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    folder = tempfile.mkdtemp()
    for epoch in range(2):
        running = torch.zeros((), device=device)
        for idx in torch.randperm(480, device=device).split(32):
            loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            running += loss.detach()
        acc = accuracy(model, test_x, test_y)
        print(f"epoch {epoch}: loss {running.item() / 15:.3f} acc {acc.item():.3f}")
        torch.save(model.state_dict(), os.path.join(folder, "last.pt"))
        torch.mps.empty_cache()


main()

# Measured (simulated device, machine loaded, twin in twin/adam_once.py): 1.36 s of steps, evaluations and reads; with both reads, the checkpoint and empty_cache put off to the end 1.44 s: nothing to gain.
