"""Report: https://github.com/pytorch/pytorch/issues/102911, "PackedSequences on MPS accelerator yields `grad_y` missing
or crashes the kernel" (comment of 2023-07-13: training taggers with packed sentences is "incredibly slow"); measured in
https://github.com/pytorch/pytorch/issues/149194, "LSTM slow on PackedSequence" (2025-03-14): 5 to 100 times as long as
a padded batch.

For a padded batch PyTorch has one op for the whole LSTM; for a packed one it goes through the words one by one, a dozen
tiny ops for each word, layer and direction, and as many again in backward.

A perfect profiler says
  steps          20; batch 16, lengths vary (up to 20 words)
  first finding  the device waits for the host, which queues a thousand tiny ops for the packed LSTM, line LSTM (and in
                 backward, line BACKWARD): give it the padded batch, without pack_padded_sequence (line PACK), and mask
                 what is beyond the end
  never          torch.compile, workers, the advice for logging: no number is read in a step
  waits          the moves of the batch (and of the sentences' order, line PACK); the loss after the last step
"""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
random.seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
WORDS, TAGS = 500, 12


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 32, num_layers=2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(64, TAGS)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)  # PACK
        states, _ = self.lstm(packed)  # LSTM
        states, _ = pad_packed_sequence(states, batch_first=True)  # UNPACK
        return self.tags(states)


def sentences(count):
    for _ in range(count):
        length = random.randint(8, 20)
        yield torch.randint(1, WORDS, (length,)), torch.randint(TAGS, (length,))


def collate(pairs):
    words, tags = zip(*pairs)
    lengths = torch.tensor([len(each) for each in words])
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=-1), lengths


def main():
    loader = DataLoader(list(sentences(320)), batch_size=16, shuffle=True, collate_fn=collate)
    model = Tagger().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for words, tags, lengths in loader:
        scores = model(words.to(device), lengths)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.to(device).flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()  # BACKWARD
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
