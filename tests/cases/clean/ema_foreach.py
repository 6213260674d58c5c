"""An exponential moving average of the weights, updated for all tensors at once."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
average = copy.deepcopy(model).requires_grad_(False)
weights, averages = list(model.parameters()), list(average.parameters())
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs = torch.rand(1024, 256, device=device)
for step in range(50):
    batch = inputs[step % 4 * 256:step % 4 * 256 + 256]
    loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        torch._foreach_lerp_(averages, weights, 0.01)
print(f"loss {loss.item():.4f}")
