"""Gradients are clipped by their norm, which nobody reads."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
inputs = torch.rand(1024, 256, device=device)
for step in range(50):
    batch = inputs[step % 4 * 256:step % 4 * 256 + 256]
    loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"loss {loss.item():.4f}")
