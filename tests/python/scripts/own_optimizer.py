"""An optimizer of the script's own beside one of PyTorch's that has no foreach."""
import torch
from torch import nn


class Signs(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.01})

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data -= group["lr"] * parameter.grad.sign()


torch.manual_seed(0)
first, second = nn.Linear(4, 4), nn.Linear(4, 4)
optimizers = [Signs(first.parameters()), torch.optim.LBFGS(second.parameters())]
for _ in range(3):
    for model, optimizer in zip((first, second), optimizers):
        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).square().sum()
            loss.backward()
            return loss
        if model is second:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    print(closure().item().hex())
