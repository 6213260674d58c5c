"""Batches of rows of different lengths, padded to their longest, from a generator; or packed, or sorted by length."""
import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

HOW = sys.argv[1] if len(sys.argv) > 1 else ""


def batches():
    for _ in range(20):
        lengths = [40] * 5 if HOW == "sorted" else [100, 25, 25, 25, 25]
        rows = [torch.randn(length, 8) for length in lengths]
        yield pad_sequence(rows, batch_first=True), lengths  # PAD


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, rows, lengths):
        if HOW == "packed":
            rows = pack_padded_sequence(rows, lengths, batch_first=True)
        outputs, _ = self.rnn(rows)
        return self.head(outputs.data if HOW == "packed" else outputs)


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for rows, lengths in batches():
    loss = model(rows, lengths).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
