"""The optimizer has the head alone, but the rest was not frozen: it gets gradients that nobody uses."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
for step in range(8):
    loss = model(torch.randn(16, 8)).square().mean()  # MODEL
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
print(round(loss.item(), 4))
