"""Four micro batches a step, whose loss is summed on the device and read every tenth step."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
inputs = torch.rand(1024, 256, device=device)
total = torch.zeros((), device=device)
for step in range(30):
    for part in range(4):
        batch = inputs[part * 128:part * 128 + 128]
        loss = nn.functional.mse_loss(model(batch), batch) / 4
        loss.backward()
        total += loss.detach()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        print(f"step {step + 1}: mean loss {total.item() / 10:.4f}")
        total.zero_()
