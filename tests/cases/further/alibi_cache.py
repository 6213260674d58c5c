"""Report: https://github.com/huggingface/transformers/pull/40007 (review of 2025-08-13: "be very careful about memory here, those
tensors will never be cleaned up as they reside in the cache"), https://github.com/CanReader/FastNN/issues/16 "The causal mask
cache grows without bound" (2026-08-25): one more mask for each length of the batches (head: lines 17 to 23; bound the cache).
"""
import math
from functools import lru_cache

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


@lru_cache(maxsize=None)
def alibi_mask(length, heads, device):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)], device=device)
    positions = torch.arange(length, device=device)
    distance = (positions[None, :] - positions[:, None]).float()
    bias = slopes[:, None, None] * distance
    return bias.masked_fill(distance > 0, float("-inf"))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads) + alibi_mask(t, self.heads, x.device)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocab=200, dim=32, heads=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Sentences(Dataset):
    def __init__(self, n):
        self.items = [torch.randint(1, 200, (int(k),)) for k in torch.randint(60, 260, (n,))]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Sentences(240), batch_size=2, shuffle=True, collate_fn=lambda b: pad_sequence(b, batch_first=True))
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, ids in enumerate(loader):
        ids = ids.to(device)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print("step %d loss %.3f" % (step, loss.item()))


if __name__ == "__main__":
    main()
