"""Report: kyutai-labs/pocket-tts pull request 255, "Add Apple Silicon (MPS) training support" (2026-08-27): with
batches of varying length driver memory grows to 72 GB beside 6.7 GB of live tensors, then macOS swaps; the cause is
told in pytorch/pytorch pull request 188045 (2026-06-24): the allocator keeps freed blocks by their size, and a longer
batch fits none of them.

Utterances sorted by length, as bucketing samplers do. Run with HIGHWATER_SIM_RECOMMENDED_MAX=1GiB.

A perfect profiler says
  steps          14; batch 1 (length 10000 to 62000), or packed length only
  first finding  driver memory grows with each new length while live tensors (current) stay near what one step needs:
                 freed blocks are cached and fit no later size; pad to a few lengths, start with the longest, or
                 empty_cache() now and then
  never          a leak of the script's: current at the ends of the steps is flat
  waits          1, after the last step
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, frames):
        return torch.relu(frames * self.scale + self.shift)


def main():
    model = nn.Sequential(Gate(32), Gate(32)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for length in range(10000, 66000, 4000):
        frames = torch.rand(1, length, 32, device=device)
        loss = (model(frames) - frames).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
