"""A short evaluation after each epoch; its loss and accuracy are summed on the device and read once.
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 64)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs, labels = torch.rand(4096, 256, device=device), torch.randint(64, (4096,), device=device)


@torch.no_grad()
def evaluate():
    model.eval()
    sums = torch.zeros(2, device=device)
    for rows in (slice(0, 256), slice(256, 512)):
        scores = model(inputs[rows])
        right = (scores.argmax(1) == labels[rows]).float()
        sums += torch.stack([nn.functional.cross_entropy(scores, labels[rows]), right.mean()])
    model.train()
    loss, accuracy = (sums / 2).tolist()
    return f"loss {loss:.3f}, accuracy {accuracy:.2f}"


for epoch in range(3):
    for begin in range(512, 4096, 256):
        rows = slice(begin, begin + 256)
        loss = nn.functional.cross_entropy(model(inputs[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {evaluate()}")
