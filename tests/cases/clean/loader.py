"""A DataLoader without workers over a small data set on the host, whose batches are moved one by one."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(128, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
data = TensorDataset(torch.rand(2048, 128), torch.randint(10, (2048,)))
total = torch.zeros((), device=device)
for epoch in range(2):
    for inputs, labels in DataLoader(data, batch_size=128, shuffle=True):
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch}: loss {total.item() / 16:.3f}")
    total.zero_()
