import random

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, words=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, source, target):
        return self.head(self.transformer(self.embed(source), self.embed(target)))


random.seed(4)
torch.manual_seed(4)
model = Translator()
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    length = random.randint(4, 12)
    source, target = torch.randint(30, (6, length)), torch.randint(30, (6, length + 1))
    logits = model(source, target[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, length, loss.item().hex())
