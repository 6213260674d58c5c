"""Report: https://github.com/bytedance/UNO/issues/64, "Memory Leak When Using itertools.cycle(dataloader) in Training
Loop" (2025-05-07; the cause in https://github.com/pytorch/pytorch/issues/23900): GPU memory grows while the batch is
small and the model fits. itertools.cycle keeps each item of the first round, here batches that lie on the device.

A perfect profiler says
  steps          60; batch 16
  first finding  memory grows by about 1.7 MiB a step (one batch of pictures, 16 x 3 x 96 x 96 x 4), 100 MiB in the run:
                 each batch made at line 52 (images.to) stays alive; something outside the step keeps the batches
                 (itertools.cycle, line 57); go round the loader again instead of keeping what it gave
  never          a graph is kept (detach), a smaller batch, empty_cache, the loss, varying shapes
"""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
torch.manual_seed(42)


class SubjectDataset(Dataset):
    def __init__(self, n=1600, size=96):
        self.images = torch.randint(0, 256, (n, 3, size, size), dtype=torch.uint8)
        self.styles = torch.randint(0, 8, (n,))

    def __len__(self):
        return len(self.images)

    def __getitems__(self, indices):
        index = torch.tensor(indices)
        return self.images[index].float().div_(127.5).sub_(1), self.styles[index]


class Velocity(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.style = nn.Embedding(8, width)
        self.down = nn.Conv2d(4, width, 4, stride=4)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, 3, 4, stride=4)

    def forward(self, x, t, style):
        x = torch.cat([x, t.expand(-1, 1, *x.shape[2:])], 1)
        h = F.silu(self.down(x)) + self.style(style)[:, :, None, None]
        return self.up(F.silu(self.mid(h)) + h)


def to_device(loader):
    for images, styles in loader:
        yield images.to(device), styles.to(device)


dataset = SubjectDataset()
loader = DataLoader(dataset, batch_size=16, shuffle=True, collate_fn=lambda batch: batch)
dataloader = itertools.cycle(to_device(loader))

model = Velocity().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
max_train_steps = 60

for step in range(max_train_steps):
    images, styles = next(dataloader)
    noise = torch.randn_like(images)
    t = torch.rand(images.shape[0], 1, 1, 1, device=device)
    x_t = (1 - t) * noise + t * images
    loss = F.mse_loss(model(x_t, t, styles), images - noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 20 == 0:
        print(f"step {step + 1}/{max_train_steps} loss {loss.item():.4f}")

# Measured (simulated device): memory at the end of a step 10.2 MiB in step 2, 139.6 MiB in step 60: 2.25 MiB a step (the block
# that the allocator gives for 1.69 MiB of pictures).
