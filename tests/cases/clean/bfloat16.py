"""Mixed precision as PyTorch's notes advise for MPS: autocast to bfloat16, no scaler."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs = torch.rand(1024, 256, device=device)
for step in range(40):
    batch = inputs[step % 4 * 256:step % 4 * 256 + 256]
    with torch.autocast(device, torch.bfloat16):
        loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
