"""Report: https://github.com/hexiangnan/neural_collaborative_filtering/issues/29 (new negatives are drawn for every epoch), and
https://github.com/recommenders-team/recommenders/issues/1379 (sampling them is slow).

Neural collaborative filtering. ng_sample() draws one by one at each epoch's start, while the device stands idle for 0.2 s.

A perfect profiler says
  steps          75
  first finding  two steps, 25 and 50, stand still at line DRAWN: a third of the time; draw with numpy at once
  not said       that each step is host-bound, DataLoader workers, a larger batch
"""
import numpy as np
import torch
import torch.nn as nn

USERS, ITEMS, POSITIVES, NUM_NG = 3000, 1800, 20000, 4
BATCH, EPOCHS, FACTORS = 4096, 3, 32
device = torch.device("mps")


class NCFData:
    def __init__(self, positives, num_item, num_ng):
        self.features_ps = positives
        self.num_item = num_item
        self.num_ng = num_ng
        self.train_mat = set(positives)

    def ng_sample(self):
        """New negatives for each epoch, as in the paper."""
        users, items, labels = [], [], []
        for u, i in self.features_ps:
            users.append(u)
            items.append(i)
            labels.append(1.0)
            for _ in range(self.num_ng):
                j = np.random.randint(self.num_item)  # DRAWN
                while (u, j) in self.train_mat:
                    j = np.random.randint(self.num_item)
                users.append(u)
                items.append(j)
                labels.append(0.0)
        self.users = torch.tensor(users)
        self.items = torch.tensor(items)
        self.labels = torch.tensor(labels)

    def batches(self, size):
        order = torch.randperm(len(self.users))
        for chunk in order.split(size):
            yield self.users[chunk], self.items[chunk], self.labels[chunk]


class NeuMF(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_gmf = nn.Embedding(USERS, FACTORS)
        self.item_gmf = nn.Embedding(ITEMS, FACTORS)
        self.user_mlp = nn.Embedding(USERS, FACTORS)
        self.item_mlp = nn.Embedding(ITEMS, FACTORS)
        self.mlp = nn.Sequential(
            nn.Linear(2 * FACTORS, 128), nn.ReLU(),
            nn.Linear(128, 64), nn.ReLU(),
            nn.Linear(64, FACTORS), nn.ReLU(),
        )
        self.predict = nn.Linear(2 * FACTORS, 1)

    def forward(self, user, item):
        gmf = self.user_gmf(user) * self.item_gmf(item)
        mlp = self.mlp(torch.cat([self.user_mlp(user), self.item_mlp(item)], -1))
        return self.predict(torch.cat([gmf, mlp], -1)).squeeze(-1)


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    pairs = set(zip(np.random.randint(USERS, size=POSITIVES).tolist(),
                    np.random.randint(ITEMS, size=POSITIVES).tolist()))
    data = NCFData(sorted(pairs), ITEMS, NUM_NG)
    model = NeuMF().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(EPOCHS):
        model.train()
        data.ng_sample()
        running = torch.zeros((), device=device)
        for user, item, label in data.batches(BATCH):
            user, item, label = user.to(device), item.to(device), label.to(device)
            optimizer.zero_grad()
            loss = loss_fn(model(user, item), label)
            loss.backward()
            optimizer.step()
            running += loss.detach()
        print(f"epoch {epoch}: loss {running.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
