"""The device is the slower one: batches are made while it still works, and the loss is read every ten steps. A data set
that normalises on the device keeps its mean there."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Pictures(Dataset):
    def __init__(self):
        self.mean = torch.full((3,), 0.5, device=device)

    def __len__(self):
        return 256

    def __getitem__(self, index):
        time.sleep(0.001)  # reads a file
        return torch.rand(256), index % 10


def main():
    model = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(),
                          nn.Linear(2048, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data, total = Pictures(), torch.zeros((), device=device)
    for epoch in range(2):
        for step, (pictures, labels) in enumerate(DataLoader(data, batch_size=8)):
            scores = model(pictures.to(device).repeat(32, 1) - data.mean.mean())
            loss = nn.functional.cross_entropy(scores, labels.to(device).repeat(32))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            if step % 10 == 9:
                print(epoch, step, f"{total.item() / 10:.4f}")
                total.zero_()


if __name__ == "__main__":
    main()
