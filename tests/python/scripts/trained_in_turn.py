"""Two models, one after the other. The gradients of the first are left over when its optimizer has gone."""
import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 8)), nn.Linear(8, 4)


def train(model, features, steps=20):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss = model(features(torch.randn(16, 8))).square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def encoded(x):
    with torch.no_grad():
        return encoder(x)


print(round(train(encoder, lambda x: x), 4), round(train(head, encoded), 4))
