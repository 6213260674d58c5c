"""A warm-up and a cosine of the learning rate, stepped with the optimizer; the rate that is printed lies on the host.
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
schedule = SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=10), CosineAnnealingLR(optimizer, 40)], [10])
inputs = torch.rand(1024, 256, device=device)
for step in range(50):
    batch = inputs[step % 4 * 256:step % 4 * 256 + 256]
    loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 10 == 9:
        print(f"step {step + 1}: rate {schedule.get_last_lr()[0]:.2e}")
print(f"loss {loss.item():.4f}")
