"""Report: Stability-AI/stable-audio-3 pull request 68, "MPS training support" (2026-07-14): on a Mac autocast("cuda")
is silently off, so that "mixed precision" trained in float32; jingyaogong/minimind pull request 852 (2026-09-09) gained
31 % by mending the like.

A perfect profiler says
  steps          30; batch 128, no sequence length
  first finding  autocast is for "cuda", which this machine has not: all is computed in float32 (line AMP);
                 torch.autocast("mps", torch.bfloat16)
  never          anything about queueing: the device is busy
  waits          1, after the last step
"""
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", message=".*autocast.*")  # as in the report, where nobody saw PyTorch's
torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


def main():
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                          nn.Linear(1024, 256)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    signal = torch.rand(128, 256, device=device)
    for _ in range(30):
        with torch.autocast("cuda", dtype=torch.bfloat16):  # AMP
            loss = nn.functional.mse_loss(model(signal), signal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
