"""Batches of tokens, each padded to a length that none of its rows has."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count=240):
        rng = random.Random(1)
        self.rows = [[rng.randrange(1, 50) for _ in range(16)] for _ in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], i % 2


def collate(items):
    rows, labels = zip(*items)
    ids = torch.zeros(len(rows), 64, dtype=torch.long)  # PAD
    for at, row in enumerate(rows):
        ids[at, :len(row)] = torch.tensor(row)
    return {"ids": ids, "types": torch.zeros_like(ids)}, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(50, 8, padding_idx=0), nn.Linear(8, 2)

    def forward(self, ids, types):
        return self.head(self.embed(ids + types).mean(1))


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for inputs, labels in DataLoader(Sentences(), batch_size=8, collate_fn=collate):
    loss = nn.functional.cross_entropy(model(**inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
