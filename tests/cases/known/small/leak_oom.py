"""Each step keeps 4 MiB in a list until memory is used up: the cause is the list, not the size of the batch."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Linear(64, 64).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
data, kept = torch.rand(64, 64, device=device), []
for _ in range(60):
    loss = model(data).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(torch.zeros(1 << 20, device=device))
print(len(kept))
