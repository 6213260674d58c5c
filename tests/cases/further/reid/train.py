"""Report: CoinCheung/triplet-reid-pytorch issue 2 (2019-05-14)."""
import random
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from market import Market
from sampler import BatchSampler

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Embedder(nn.Module):
    def __init__(self, dims=64):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.body = nn.Sequential(block(3, 16), block(16, 32), block(32, 64))
        self.fc = nn.Linear(64, dims)

    def forward(self, x):
        return self.fc(self.body(x).mean(dim=(2, 3)))


class TripletHard(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.margin = margin

    def forward(self, emb, labels):
        sq = emb.pow(2).sum(1)
        dist = (sq[:, None] + sq[None] - 2 * emb @ emb.T).clamp(min=1e-8).sqrt()
        same = labels[:, None] == labels[None]
        hardest_pos = dist.masked_fill(~same, 0).max(dim=1).values
        hardest_neg = dist.masked_fill(same, 1e6).min(dim=1).values
        return torch.relu(hardest_pos - hardest_neg + self.margin).mean()


def main(iterations=150):
    random.seed(0)
    torch.manual_seed(0)
    data = Market()
    loader = DataLoader(data, batch_sampler=BatchSampler(data, n_class=18, n_num=4, batches=iterations))
    net = Embedder().to(device)
    criterion = TripletHard()
    optim = torch.optim.Adam(net.parameters(), lr=3e-4)
    history, begin = [], time.time()
    for it, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        loss = criterion(net(images), labels)
        optim.zero_grad()
        loss.backward()
        optim.step()
        history.append(loss.detach())
        if (it + 1) % 50 == 0:
            mean = torch.stack(history).mean().item()
            print(f"iter {it + 1}, loss {mean:.4f}, {time.time() - begin:.1f} s")
            history.clear()


if __name__ == "__main__":
    main()
