"""Report: Dayallenr/RAG issue 11, "Fine-tune the bi-encoder" (2026-08-18): out of memory on an 8 GB Mac; not the model
but attention over long passages, three texts a sample. Most passages are short, a few fill the window.

Run with HIGHWATER_SIM_RECOMMENDED_MAX=64MiB, of which 1.7 times are allowed. The ninth batch holds the longest
passages.

A perfect profiler says
  steps          8 complete ones; batch 3 x 8 = 24, lengths 48 to 96
  first finding  the run ended out of memory in step 9, at length 448 (the others have at most 96), line SCORES:
                 attention's memory grows with the square of the length; truncate or sort by length, or use
                 scaled_dot_product_attention
  never          growth or a leak: the steps before leave nothing
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.project, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, hidden):
        parts = self.project(hidden).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        scores = query @ key.transpose(-2, -1) / 4  # SCORES
        return hidden + self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))  # MIX


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.attention = nn.Embedding(500, 64), Attention(64, 4)

    def forward(self, tokens):
        return nn.functional.normalize(self.attention(self.words(tokens)).mean(1), dim=-1)


def main():
    encoder = Encoder().to(device)
    optimizer = torch.optim.AdamW(encoder.parameters(), 1e-3)
    for length in (64, 96, 48, 80, 64, 96, 72, 88, 448, 64, 80, 96):
        question, right, wrong = encoder(torch.randint(500, (24, length)).to(device)).chunk(3)
        scores = question @ torch.cat([right, wrong]).T * 20
        loss = nn.functional.cross_entropy(scores, torch.arange(8, device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
