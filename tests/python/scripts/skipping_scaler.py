import torch
from torch import nn

torch.manual_seed(7)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=100)
for step in range(6):
    inputs = torch.randn(4, 6)
    if step in (1, 3):
        inputs[0, 0] = float("inf")
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item().hex(), scaler.get_scale())
