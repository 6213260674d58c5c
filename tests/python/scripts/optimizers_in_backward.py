import torch
from torch import nn

torch.manual_seed(8)
model = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 2))
optimizers = {parameter: torch.optim.Adam([parameter]) for parameter in model.parameters()}


def step_now(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_now)
for step in range(4):
    loss = model(torch.randn(9, 5)).square().mean()
    loss.backward()
    print(step, loss.item().hex())
