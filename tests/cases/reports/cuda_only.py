"""Report: idiap/coqui-ai-Trainer pull request 27, "Add Apple Silicon MPS support for training" (2026-07-25); the same
line in 29 scripts of rasbt/LLMs-from-scratch, issue 977 (2026-03-09).

On a Mac everything trains on the CPU, and the GPU does nothing, because the script looks for CUDA only. Nothing says
so.

A perfect profiler says
  steps          30; batch 32, no sequence length
  first finding  the model and its batches are on the CPU, though this machine has MPS: "cuda" is all that the script
                 asks for; choose the device with torch.accelerator or torch.backends.mps.is_available()
  waits, fallbacks  none, and no words about MPS's memory
"""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    model = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                          nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    images, labels = torch.rand(320, 3, 32, 32), torch.randint(10, (320,))
    total = torch.zeros((), device=device)
    for step in range(30):
        rows = slice(step % 10 * 32, step % 10 * 32 + 32)
        loss = nn.functional.cross_entropy(model(images[rows].to(device)), labels[rows].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"mean loss {total.item() / 30:.3f}")


if __name__ == "__main__":
    main()
