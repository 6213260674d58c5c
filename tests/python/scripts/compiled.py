import torch
from torch import nn
from torch._dynamo.utils import counters

torch.manual_seed(10)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4), nn.Tanh()))
compiled = torch.compile(model, backend="eager", fullgraph=True)
other = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
other.compile(backend="eager")
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
for step in range(4):
    loss = other(compiled(torch.randn(16, 8))).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item().hex())
print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]), counters["frames"]["total"])
