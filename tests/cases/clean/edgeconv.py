"""Point-cloud classifier (EdgeConv, knn on the device). Clean: after
https://github.com/pyg-team/pytorch_geometric/issues/10152 and
https://github.com/NVlabs/contact_graspnet/issues/29 (farthest point sampling in the step is the
bottleneck) the points are sampled once, before the training, and losses are read once an epoch."""
import copy
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
device = "mps" if torch.backends.mps.is_available() else "cpu"

EPOCHS, CLOUDS, BATCH, RAW, POINTS, K, CLASSES = 4, 192, 16, 256, 96, 8, 6


def farthest_points(cloud, count):
    """Farthest point sampling of all clouds at once (clouds, RAW, 3), on the CPU."""
    n = cloud.shape[0]
    rows = torch.arange(n)
    chosen = torch.zeros(n, count, dtype=torch.long)
    distance = torch.full(cloud.shape[:2], 1e10)
    last = torch.zeros(n, dtype=torch.long)
    for i in range(count):
        chosen[:, i] = last
        distance = torch.minimum(distance, (cloud - cloud[rows, last][:, None]).square().sum(-1))
        last = distance.argmax(1)
    return cloud[rows[:, None], chosen]


def knn(x, k):
    return torch.cdist(x, x).topk(k, largest=False).indices


class EdgeConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2 * cin, cout), nn.ReLU(), nn.Linear(cout, cout))

    def forward(self, x, index):
        n, points, dim = x.shape
        flat = index.reshape(n, -1, 1).expand(-1, -1, dim)
        near = x.gather(1, flat).view(n, points, -1, dim)
        centre = x.unsqueeze(2).expand_as(near)
        return self.mlp(torch.cat([centre, near - centre], -1)).amax(2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = EdgeConv(3, 32), EdgeConv(32, 64)
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, points):
        index = knn(points, K)
        x = self.conv2(self.conv1(points, index), index)
        return self.head(x.amax(1))


def main():
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(0, CLASSES, (CLOUDS,), generator=generator)
    raw = torch.randn(CLOUDS, RAW, 3, generator=generator)
    raw[..., 0] *= 1 + labels[:, None].float() / 2
    points, labels = farthest_points(raw, POINTS).to(device), labels.to(device)
    train, valid = slice(0, 160), slice(160, CLOUDS)
    model = Net().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS)
    best, best_state = float("inf"), None
    if device == "mps":
        torch.mps.synchronize()
    start, steps = time.perf_counter(), 0
    for epoch in range(EPOCHS):
        model.train()
        order = torch.randperm(160, generator=generator).to(device)
        total = torch.zeros((), device=device)
        for rows in order.split(BATCH):
            loss = F.cross_entropy(model(points[train][rows]), labels[train][rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.detach()
            steps += 1
        schedule.step()
        model.eval()
        with torch.no_grad():
            valid_loss = F.cross_entropy(model(points[valid]), labels[valid]).item()
        print("step", steps, total.item() / 10, valid_loss)
        if valid_loss < best:
            best, best_state = valid_loss, copy.deepcopy(model.state_dict())
    if device == "mps":
        torch.mps.synchronize()
    print("ms per step", (time.perf_counter() - start) / steps * 1e3)


main()
