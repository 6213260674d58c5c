"""Gradients through a model that feeds another, all of them used: an optimizer each, one of which steps more rarely,
and gradients that are set to zero rather than dropped."""
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
    of_head.step()
    print(step, loss.item().hex())
