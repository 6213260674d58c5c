"""The model's forward runs out of memory within a closure that the optimizer calls, as Lightning's trainer has it."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.Linear(4096, 8)).to(device)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
data = torch.rand(8192, 64, device=device)


def closure():
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    return loss


for _ in range(3):
    optimizer.step(closure)
print("done")
