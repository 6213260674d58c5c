"""Report: https://github.com/mattmireles/gemma-tuner-multimodal/issues/18, "default config oom" (2026-04-12):
fine-tuning on a 16 GB Mac ends with 9.48 GiB allocated of 9.47 GiB, in an allocation of 256 bytes; the answer: the defaults are for 32 GB. What
the memory held the report does not tell; here it is what grows with the parameters: gradients, and AdamW's two moments,
which the first optimizer.step() allocates, after forward and backward have gone well.

Run with HIGHWATER_SIM_RECOMMENDED_MAX=64MiB, of which 1.7 times are allowed: 108.8 MiB. The weights take 32 MiB, their
gradients 32 MiB, the moments would take 64 MiB; what a batch of 2 needs is less than 1 MiB.

A perfect profiler says
  steps          0; exit code 1
  first finding  out of memory in step 1, in the optimizer (line STEP): weights, gradients and AdamW's state do not fit,
                 whatever the batch is: an optimizer with less state (SGD, Adafactor), fewer trained parameters (LoRA,
                 frozen layers), or bfloat16 weights
  never          a smaller batch, a shorter sequence, gradient accumulation or checkpointing: the batch takes nearly
                 nothing; a leak
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
WIDTH = 1024


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + nn.functional.gelu(self.inner(self.norm(hidden)))


def pretrained():
    return nn.Sequential(*(Residual() for _ in range(8)))


def main():
    model = nn.Sequential(pretrained(), nn.Linear(WIDTH, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    data = TensorDataset(torch.rand(12, WIDTH), torch.randint(4, (12,)))
    for features, labels in DataLoader(data, batch_size=2, shuffle=True):
        loss = nn.functional.cross_entropy(model(features.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # STEP
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
