"""Loss, accuracy and confusion matrix of each batch are added up on the device, and read once an epoch."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 8)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs, labels = torch.rand(4096, 256, device=device), torch.randint(8, (4096,), device=device)
one = torch.ones(256, device=device)
for epoch in range(3):
    matrix, total = torch.zeros(64, device=device), torch.zeros((), device=device)
    for begin in range(0, 4096, 256):
        rows = slice(begin, begin + 256)
        scores = model(inputs[rows])
        loss = nn.functional.cross_entropy(scores, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        matrix.scatter_add_(0, labels[rows] * 8 + scores.detach().argmax(1), one)
    read = torch.cat([total[None], matrix]).tolist()
    print(f"epoch {epoch}: loss {read[0] / 16:.3f}, accuracy {sum(read[1::9]) / 4096:.2f}")
