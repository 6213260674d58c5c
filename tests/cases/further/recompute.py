"""Report: https://github.com/ecmwf/WeatherGenerator/issues/1141, "Balance memory and compute in gradient checkpointing" (2025-10-23: it
"helps save memory, but it also slows down performance"; the layers should be chosen).

A small transformer whose blocks are all checkpointed, as a script for a large one did, though all of it needs some tens of MiB.

A perfect profiler says
  steps          25; batch 4, sequence length 64
  first finding  each block's forward is computed twice, the second time in backward (line CKPT): about a quarter of the device's
                 time; what is saved is a few tens of MiB of gigabytes: call the blocks without checkpoint, at least some of them
  not said       waits (one read at the end), memory growth, host-bound, that memory is short
"""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
WIDTH, LENGTH, BATCH, VOCABULARY = 256, 64, 4, 200


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, t, 3, 4, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.narrow(nn.functional.gelu(self.wide(self.after(x))))


class GPT(nn.Module):
    def __init__(self, layers=4, gradient_checkpointing=True):
        super().__init__()
        self.gradient_checkpointing = gradient_checkpointing
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[:tokens.shape[1]]
        for block in self.blocks:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=False)  # CKPT
            else:
                x = block(x)
        return self.head(self.norm(x))


def main():
    model = GPT().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
    text = torch.randint(VOCABULARY, (BATCH * 5, LENGTH + 1), device=device)
    for step in range(25):
        batch = text[step % 5 * BATCH:step % 5 * BATCH + BATCH]
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
