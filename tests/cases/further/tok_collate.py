"""Report: https://github.com/lucidrains/reformer-pytorch/issues/143, "is it worthwhile pretokenizing?" (2021-05-28):
tokenization is done in the training loop and takes quite some time; measured in
https://github.com/AnswerDotAI/ModernBERT/issues/236 (2025-06-02): without pretokenization 30 % of the speed.

A perfect profiler says
  steps          3 epochs x 16 = 48; batch 16, sequence length 96
  first finding  getting a batch takes most of a step, while the device has nothing to do: the tokenizer, called by the
                 loader's collate function (line 70, its work in bpe, line 50); tokenize once, before the training
                 (each text is tokenized again in each epoch)
  never          reading the loss less (it is read each tenth step), a larger batch, the device's work, memory
"""
import argparse
import re
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

WORDS = re.compile(r"\w+|[^\w\s]")


class BPETokenizer:
    """A small byte pair encoder with a table of merges, as in GPT-2's first encoder.py."""

    def __init__(self, merges):
        self.ranks = {pair: i for i, pair in enumerate(merges)}

    def bpe(self, word):
        parts = list(word) + ["</w>"]
        while len(parts) > 1:
            pairs = {(parts[i], parts[i + 1]) for i in range(len(parts) - 1)}
            best = min(pairs, key=lambda pair: self.ranks.get(pair, 1 << 30))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if i < len(parts) - 1 and (parts[i], parts[i + 1]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return parts

    def encode(self, text, length):
        ids = []
        for word in WORDS.findall(text.lower()):
            ids += [hash(part) % 2000 for part in self.bpe(word)]
        return (ids + [0] * length)[:length]


def make_texts(n):
    rng = random.Random(0)
    return ["".join(rng.choice("etaoin shrdlu ") for _ in range(1200)) for _ in range(n)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seq_len", type=int, default=96)
    args = parser.parse_args()
    device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")

    tokenizer = BPETokenizer([(a, b) for a in "etaoinshrdlu" for b in "etaoinshrdlu"])
    texts = make_texts(256)

    def collate(batch):
        return torch.tensor([tokenizer.encode(text, args.seq_len + 1) for text in batch])

    loader = DataLoader(texts, batch_size=16, shuffle=True, collate_fn=collate)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(2000, 64), layer, nn.Linear(64, 2000)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    step = 0
    for epoch in range(args.epochs):
        for ids in loader:
            ids = ids.to(device)
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()

# Measured (simulated device, machine loaded, twin in twin/tok_collate.py): 76 ms a step (p50), tokenized beforehand 36 ms; batch assembly 63 % of all time.
