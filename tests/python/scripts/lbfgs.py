import torch
from torch import nn

torch.manual_seed(6)
inputs = torch.randn(50, 3)
targets = inputs @ torch.tensor([[1.0], [-2.0], [0.5]])
model = nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
calls = 0


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    return loss


for step in range(3):
    before = calls
    loss = optimizer.step(closure)
    print(step, calls - before, loss.item().hex())
