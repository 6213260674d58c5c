"""Report: pytorch/pytorch issue 106704 (2023-08), fastai/fastai issue 3949 (2023-08-28)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
CARDINALITIES = (500, 200, 50, 24, 7)


def load_clicks(rows=160_000, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.lognormal(size=(rows, 8)).astype("float32")
    categories = np.stack([rng.integers(0, c, rows) for c in CARDINALITIES], axis=1)
    score = np.log(dense[:, 0]) + (categories[:, 3] - 12) / 6 - 1.5
    clicked = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype("float32")
    dense = np.log1p(dense)
    dense = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    return TensorDataset(torch.from_numpy(dense), torch.from_numpy(categories), torch.from_numpy(clicked))


class DeepAndWide(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c, width) for c in CARDINALITIES)
        self.wide = nn.Linear(8, 1)
        self.deep = nn.Sequential(nn.Linear(8 + width * len(CARDINALITIES), 128), nn.ReLU(), nn.Dropout(0.1),
                                  nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense, categories):
        embedded = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        x = torch.cat([dense, *embedded], dim=1)
        return (self.wide(dense) + self.deep(x)).squeeze(1)


class RunningMean:
    def __init__(self):
        self.total, self.count = torch.zeros((), device=device), 0

    def add(self, value, n):
        self.total += value.detach() * n
        self.count += n

    def value(self):
        return self.total.item() / max(self.count, 1)


def run_epoch(model, loader, criterion, optimizer=None):
    mean = RunningMean()
    model.train(optimizer is not None)
    with torch.set_grad_enabled(optimizer is not None):
        for dense, categories, clicked in loader:
            dense, categories, clicked = dense.to(device), categories.to(device), clicked.to(device)
            loss = criterion(model(dense, categories), clicked)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            mean.add(loss, len(clicked))
    return mean.value()


def main(epochs=2, batch_size=2048):
    torch.manual_seed(0)
    clicks = load_clicks()
    train, valid = random_split(clicks, [0.9, 0.1])
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=batch_size)
    model = DeepAndWide().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        train_loss = run_epoch(model, train_loader, criterion, optimizer)
        valid_loss = run_epoch(model, valid_loader, criterion)
        print(f"epoch {epoch}: train {train_loss:.4f} valid {valid_loss:.4f}")


if __name__ == "__main__":
    main()
