"""Thirty steps of a training, on the device that there is. A wheel's test watches it."""
import torch

device = "mps" if torch.backends.mps.is_available() else "cpu"
try:
    model = torch.nn.Linear(8, 8).to(device)
except RuntimeError:  # a hosted Mac has an MPS that cannot allocate
    device = "cpu"
    model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    model(torch.randn(4, 8, device=device)).sum().backward()
    optimizer.step()
