"""Report: https://github.com/huggingface/transformers/issues/3830 (full-vocabulary scores of masked language models).

A masked language model computes the scores of all 8000 words at all 96 positions, and uses those at the 15 % that are
masked.

A perfect profiler says
  steps          40; batch 8, length 96
  verdict        the device is the bottleneck; the decoder (SCORES) and its loss (LOSS) are most of its work, by their sizes
  not said       host-bound; a finding about the few reads
"""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
VOCAB, LENGTH, DIM, MASK = 8000, 96, 96, 1


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + self.proj(a)
        return x + self.ff(self.norm2(x))


class MaskedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.zeros(1, LENGTH, DIM))
        self.layers = nn.ModuleList([Layer(DIM) for _ in range(2)])
        self.norm = nn.LayerNorm(DIM)
        self.decoder = nn.Linear(DIM, VOCAB)

    def encode(self, ids):
        x = self.tok(ids) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)

    def forward(self, ids, labels):
        hidden = self.encode(ids)
        scores = self.decoder(hidden)  # SCORES
        return F.cross_entropy(scores.view(-1, VOCAB), labels.view(-1), ignore_index=-100)  # LOSS


def mask_tokens(ids, rate=0.15):
    picked = torch.rand(ids.shape) < rate
    labels = torch.where(picked, ids, torch.full_like(ids, -100))
    return torch.where(picked, torch.full_like(ids, MASK), ids), labels


def main():
    torch.manual_seed(0)
    ids = torch.randint(2, VOCAB, (2048, LENGTH))
    loader = DataLoader(TensorDataset(ids), batch_size=8, shuffle=True, drop_last=True)
    model = MaskedLM().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    start, running = time.time(), torch.zeros((), device=device)
    for step, (batch,) in enumerate(loader, 1):
        inputs, labels = mask_tokens(batch)
        loss = model(inputs.to(device), labels.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.detach()
        if step % 20 == 0:
            print(f"step {step}: loss {running.item() / 20:.3f}, {(time.time() - start) / step * 1e3:.0f} ms a step")
            running.zero_()
        if step == 40:
            break


if __name__ == "__main__":
    main()
