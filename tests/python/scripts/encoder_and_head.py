"""Gradients through a model that feeds another, all of them used: an optimizer each, one of which steps more rarely;
gradients that are clipped and set to zero though nothing was added to them; and a model that two optimizers train."""
import torch
from torch import nn

torch.manual_seed(5)
encoder, head = nn.Linear(4, 16), nn.Linear(16, 1)
of_encoder, of_head = torch.optim.SGD(encoder.parameters(), 1e-3), torch.optim.SGD(head.parameters(), 1e-3)
for step in range(12):
    loss = head(encoder(torch.randn(16, 4))).square().mean()
    loss.backward()
    of_head.step()
    of_head.zero_grad(set_to_none=False)
    if step % 2:
        of_encoder.step()
        of_encoder.zero_grad(set_to_none=False)
for step in range(12):
    codes = encoder(torch.randn(16, 4)).detach()
    loss = head(codes).square().mean()
    of_head.zero_grad(set_to_none=False)
    of_encoder.zero_grad(set_to_none=False)
    loss.backward()
    nn.utils.clip_grad_norm_([*encoder.parameters(), *head.parameters()], 1.0)
    of_head.step()
other = nn.Linear(16, 2)
tasks = [(head, torch.optim.SGD([*encoder.parameters(), *head.parameters()], 1e-3)),
         (other, torch.optim.SGD([*encoder.parameters(), *other.parameters()], 1e-3))]
for step in range(12):
    for task, optimizer in tasks:
        optimizer.zero_grad()
        loss = task(encoder(torch.randn(16, 4))).square().mean()
        loss.backward()
        optimizer.step()
    print(step, loss.item().hex())
