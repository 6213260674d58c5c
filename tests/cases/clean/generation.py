"""A model of text is trained, then asked for a few tokens: each from a window of one length, all read at once.
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
WINDOW = 16
model = nn.Sequential(nn.Embedding(200, 32), nn.Flatten(), nn.Linear(32 * WINDOW, 1024), nn.ReLU(),
                      nn.Linear(1024, 200)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
text = torch.randint(200, (2048, WINDOW + 1), device=device)
for step in range(50):
    rows = slice(step % 8 * 256, step % 8 * 256 + 256)
    loss = nn.functional.cross_entropy(model(text[rows, :WINDOW]), text[rows, WINDOW])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")

window = text[:1, :WINDOW]
with torch.no_grad():
    for _ in range(8):
        window = torch.cat([window[:, 1:], model(window).argmax(-1, keepdim=True)], 1)
print(window[0].tolist())
