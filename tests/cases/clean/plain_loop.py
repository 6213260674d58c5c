"""A plain loop: the loss is read once, after the last step."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs, targets = torch.rand(1024, 256, device=device), torch.rand(1024, 256, device=device)
for step in range(60):
    rows = slice(step % 4 * 256, step % 4 * 256 + 256)
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
