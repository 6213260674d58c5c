"""Report: https://github.com/Lightning-AI/pytorch-lightning/issues/19955, "Adam optimizer is slower after loading
model from checkpoint" (2024-06-07); on a Mac https://github.com/scverse/scvi-tools/pull/3998 (2026-09-06) counted 17 of a step's 22
waits in Adam, one for each parameter, for the same reason.

Adam counts its steps in a tensor on the CPU, one for each parameter. The script moves the optimizer's whole state to the
device after it has loaded it, these counters too, so that each optimizer.step() reads each of them back.

Run twice: first without --resume, which writes the checkpoint (--out FILE), then with --resume.

A perfect profiler says (second run)
  steps          30; batch 64, no sequence length
  first finding  the optimizer reads the counter of each of 34 parameters, 34 waits a step, line STEP: the counters are on
                 the device since line MOVE; load_state_dict() has put the state where it belongs: leave the move away
                 (or "step" out of it), or use fused=True
  never          the advice for logging: the script reads nothing in a step; a larger batch, torch.compile
  waits          34 a step, and the loss after the last step; the first run has none of the 34
"""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="/tmp/continued.pt")
parser.add_argument("--resume", action="store_true")
options = parser.parse_args()
torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


def build():
    layers = [nn.Linear(32, 128)]
    for _ in range(8):
        layers += [nn.GELU(), nn.Linear(128, 128), nn.LayerNorm(128)]
    return nn.Sequential(*layers[:-1], nn.GELU(), nn.Linear(128, 1))


def load(path, model, optimizer):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    for state in optimizer.state.values():
        for key, value in state.items():
            if torch.is_tensor(value):
                state[key] = value.to(device)  # MOVE


def main():
    model = build().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    if options.resume:
        load(options.out, model, optimizer)
    inputs = torch.rand(1920, 32, device=device)
    targets = inputs.square().sum(1, keepdim=True)
    for start in range(0, 1920, 64):
        loss = nn.functional.mse_loss(model(inputs[start:start + 64]), targets[start:start + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # STEP
    print(f"loss {loss.item():.4f}")
    if not options.resume:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, options.out)


if __name__ == "__main__":
    main()
