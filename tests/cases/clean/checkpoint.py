"""One checkpoint of model and optimizer, in the middle of the training."""
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
inputs = torch.rand(1024, 256, device=device)
with tempfile.TemporaryDirectory() as folder:
    for step in range(60):
        batch = inputs[step % 4 * 256:step % 4 * 256 + 256]
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 29:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                       os.path.join(folder, "last.pt"))
print(f"loss {loss.item():.4f}")
