"""Two losses of one model: `balanced` by the gradients of each; with a backward each, `in_turn`, where the gradients
are used `apart`, or of a `graph_each`."""
import sys

import torch
from torch import nn

torch.manual_seed(0)
way = sys.argv[1]
trunk = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
heads = nn.ModuleList([nn.Linear(64, 4), nn.Linear(64, 4)])
model = nn.ModuleList([trunk, heads])
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.01)


def size(loss):
    gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)  # GRAD
    return sum(each.abs().sum() for each in gradients if each is not None)


for step in range(12):
    inputs = torch.randn(16, 8)
    features = trunk(inputs)
    first = heads[0](features).square().mean()
    second = heads[1](trunk(inputs) if way == "graph_each" else features).abs().mean()
    if way == "balanced":
        loss = first + second * (size(first) / size(second))
        optimizer.zero_grad()
        loss.backward()  # SUM
    else:
        optimizer.zero_grad()
        first.backward(retain_graph=True)  # FIRST
        gradients = [0 if each.grad is None else each.grad.clone() for each in parameters]
        if way == "apart":
            optimizer.zero_grad()
        second.backward()  # SECOND
        loss = first + second
        if way == "apart":
            for parameter, gradient in zip(parameters, gradients):
                parameter.grad = gradient + (0 if parameter.grad is None else parameter.grad.sign())
    optimizer.step()
print(round(loss.item(), 4))
