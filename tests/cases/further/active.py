"""Report: zhanhz/PC-NBV_pytorch issue 3 (2022-12-06)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
if device.type == "mps":
    torch.mps.set_per_process_memory_fraction(0.05)     # the machine is used for other things too


class BayesianCNN(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
                                  nn.MaxPool2d(2), nn.Dropout(0.25))
        self.fc = nn.Sequential(nn.Linear(24 * 14 * 14, 96), nn.ReLU(), nn.Dropout(0.5), nn.Linear(96, classes))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def make_pool(n=1200, classes=8):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    proto = rng.standard_normal((classes, 1, 28, 28))
    x = proto[y] + 0.8 * rng.standard_normal((n, 1, 28, 28))
    return torch.from_numpy(x.astype("float32")), torch.from_numpy(y)


def fit(model, x, y, steps=25, batch=32):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for step in range(steps):
        rows = torch.randint(0, len(x), (batch,))
        loss = F.cross_entropy(model(x[rows].to(device)), y[rows].to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def bald(model, x, passes=4, batch=50):
    """Mutual information between predictions and weights, by MC dropout."""
    model.train()
    draws = []
    for _ in range(passes):
        probs = [F.softmax(model(chunk.to(device)), dim=1) for chunk in x.split(batch)]
        draws.append(torch.cat(probs))
    p = torch.stack(draws)
    mean = p.mean(dim=0)
    entropy = -(mean * mean.clamp_min(1e-8).log()).sum(dim=1)
    conditional = -(p * p.clamp_min(1e-8).log()).sum(dim=2).mean(dim=0)
    return (entropy - conditional).detach().cpu()


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        out = torch.cat([model(c.to(device)).argmax(1) for c in x.split(100)])
    return (out.cpu() == y).float().mean().item()


def main(rounds=6, start=64, query=32, candidates=60):
    torch.manual_seed(0)
    x, y = make_pool()
    test_x, test_y = x[-200:], y[-200:]
    labelled = list(range(start))
    unlabelled = list(range(start, 1000))
    for r in range(rounds):
        model = BayesianCNN().to(device)
        loss = fit(model, x[labelled], y[labelled])
        pool = unlabelled[:candidates * 2 ** r]
        scores = bald(model, x[pool])
        best = [pool[i] for i in scores.topk(query).indices.tolist()]
        labelled += best
        unlabelled = [i for i in unlabelled if i not in set(best)]
        print(f"round {r}: {len(labelled)} labels, loss {loss:.3f}, accuracy {accuracy(model, test_x, test_y):.3f}")


if __name__ == "__main__":
    main()
