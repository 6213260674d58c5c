"""Two losses of one model: `balanced` by the gradients of each, or by those of the `last_layer`; with a backward each,
`in_turn`, of a `graph_each`, of a `model_each`, or where the gradients are used apart: `cleared` or `clipped` in between."""
import sys

import torch
from torch import nn

torch.manual_seed(0)
way = sys.argv[1]
trunk = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
heads = nn.ModuleList([nn.Linear(64, 4), nn.Linear(64, 4)])
other = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
model = nn.ModuleList([trunk, heads, other])
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.01)


def size(loss):
    inputs = list(trunk[2].parameters()) if way == "last_layer" else parameters
    gradients = torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)  # GRAD
    return sum(each.abs().sum() for each in gradients if each is not None)


for step in range(12):
    inputs = torch.randn(16, 8)
    features = trunk(inputs)
    first = heads[0](features).square().mean()
    if way in ("graph_each", "model_each"):
        features = (trunk if way == "graph_each" else other)(inputs)
    second = heads[1](features).abs().mean()
    if way in ("balanced", "last_layer"):
        loss = first + second * (size(first) / size(second))
        optimizer.zero_grad()
        loss.backward()  # SUM
    else:
        optimizer.zero_grad()
        first.backward(retain_graph=True)  # FIRST
        if way == "clipped":
            nn.utils.clip_grad_norm_(parameters, 0.1)
        gradients = [None if each.grad is None else each.grad.clone() for each in parameters]
        if way == "cleared":
            model.zero_grad()
        second.backward()  # SECOND
        loss = first + second
        if way == "cleared":
            for parameter, gradient in zip(parameters, gradients):
                if gradient is not None and parameter.grad is not None:
                    parameter.grad.sign_().add_(gradient)
    optimizer.step()
print(round(loss.item(), 4))
