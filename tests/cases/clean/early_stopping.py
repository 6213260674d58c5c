"""Early stopping: the loss of an epoch is read once, at its end, to decide whether to go on."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs = torch.rand(4096, 256, device=device)
best, waited = float("inf"), 0
for epoch in range(4):
    total = torch.zeros((), device=device)
    for batch in inputs.split(256):
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    mean = total.item() / 16
    best, waited = (mean, 0) if mean < best else (best, waited + 1)
    if waited == 2:
        break
print(f"best loss {best:.4f}")
