"""After a public report (fastai/fastai#2516: "the training was working well but the validation was tremendously slow").
A classifier of texts with many classes, whose validation fills a confusion matrix by comparing all classes with all
classes for each sample of a batch.

What a perfect profiler says:
  steps          20; batch 64, length 32; 2 evaluations of 6 batches
  first finding  evaluations take most of the time, and most of the device's work there is line 38, the comparison, not
                 the model: count by bincount, or compare less
  not said       that the reads of the results, or the model, take the time
"""
import time

import torch
from torch import nn

torch.manual_seed(0)
CLASSES, VOCAB, LENGTH, BATCH = 700, 5000, 32, 64
device = torch.device("mps")


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 96)
        self.mix = nn.Sequential(nn.Conv1d(96, 96, 3, padding=1), nn.ReLU(), nn.Conv1d(96, 96, 3, padding=1), nn.ReLU())
        self.out = nn.Linear(96, CLASSES)

    def forward(self, ids):
        return self.out(self.mix(self.embed(ids).transpose(1, 2)).mean(2))


class ConfusionMatrix:
    def __init__(self):
        self.x = torch.arange(CLASSES, device=device)
        self.cm = torch.zeros(CLASSES, CLASSES, device=device)

    def on_batch_end(self, preds, targs):
        cm = ((preds == self.x[:, None]) & (targs == self.x[:, None, None])).sum(dim=2, dtype=torch.float32)
        self.cm += cm


def batches(n):
    labels = torch.randint(0, CLASSES, (n, BATCH))
    ids = (labels[..., None] * 11 + torch.randint(0, 40, (n, BATCH, LENGTH))) % VOCAB
    return list(zip(ids, labels))


train, valid = batches(10), batches(6)
model = TextClassifier().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

start = time.perf_counter()
for epoch in range(2):
    model.train()
    for ids, labels in train:
        loss = criterion(model(ids.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    trained = time.perf_counter()
    model.eval()
    metric = ConfusionMatrix()
    with torch.no_grad():
        for ids, labels in valid:
            targs = labels.to(device)
            preds = model(ids.to(device)).argmax(1)
            metric.on_batch_end(preds, targs)
    accuracy = (metric.cm.diagonal().sum() / metric.cm.sum()).item()
    print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {accuracy:.3f} validation {time.perf_counter() - trained:.2f} s")
print(f"OWN: {2 * 10} steps, {2 * 6} validation batches, {time.perf_counter() - start:.2f} s")
