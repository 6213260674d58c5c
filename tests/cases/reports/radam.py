"""Report: pytorch/pytorch issue 112956, "Optim.step() is significantly SLOW on MPS" (2023-11-04); measured again in
scverse/scvi-tools pull request 3998 (2026-09-06): 423 of a step's 916 ops are the optimizer's.

A deep, narrow network with RAdam. On MPS PyTorch's optimizers go through the parameters one by one, a dozen small ops
each, where on CUDA they would take all at once: the host queues the optimizer for longer than the device computes the
whole step.

A perfect profiler says
  steps          40; batch 64, no sequence length
  first finding  the optimizer's step queues most of a step's ops, one parameter at a time (line STEP, 122 parameters):
                 foreach=True takes them together (RAdam has no fused variant)
  waits          1, after the last step; fallbacks none; memory flat
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, hidden):
        return hidden + torch.tanh(self.linear(hidden))


def main():
    model = nn.Sequential(nn.Linear(20, 64), *(Layer(64) for _ in range(59)), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4)
    features, target = torch.rand(64, 20, device=device), torch.rand(64, 1, device=device)
    for _ in range(40):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # STEP
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
