"""Report: https://github.com/xingdi-eric-yuan/GATA-public/issues/19 "Evaluation in obs_generation is super slow" (2021-07-07:
training 1000 episodes takes 4 minutes, the evaluation 11, because it generates freely),
https://github.com/karpathy/llama2.c/issues/346 (generate without a cache of keys and values). Head: line 85, generation takes most.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
VOCAB, CONTEXT, EOS = 128, 64, 0


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        mask = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    def __init__(self, dim=64, heads=4, layers=3):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(CONTEXT, dim)
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(
            n1=nn.LayerNorm(dim), attn=Attention(dim, heads), n2=nn.LayerNorm(dim),
            mlp=nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)))) for _ in range(layers))
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1], device=idx.device))
        for b in self.blocks:
            x = x + b["attn"](b["n1"](x))
            x = x + b["mlp"](b["n2"](x))
        return self.head(x)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -CONTEXT:])[:, -1]
            nxt = torch.multinomial(F.softmax(logits, -1), 1)
            idx = torch.cat([idx, nxt], 1)
            if nxt.item() == EOS:
                break
        return idx


def token_f1(predicted, gold):
    common = len(set(predicted) & set(gold))
    return 2 * common / max(1, len(set(predicted)) + len(set(gold)))


def evaluate(model, prompts, golds):
    model.eval()
    scores = []
    for prompt, gold in zip(prompts, golds):
        generated = model.generate(prompt[None].to(device), 40)[0, prompt.shape[0]:].tolist()
        scores.append(token_f1(generated, gold.tolist()))
    model.train()
    return sum(scores) / len(scores)


def main():
    torch.manual_seed(0)
    corpus = torch.randint(1, VOCAB, (50000,))
    prompts, golds = torch.randint(1, VOCAB, (12, 16)), torch.randint(1, VOCAB, (12, 40))
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(1, 61):
        starts = torch.randint(0, len(corpus) - CONTEXT - 1, (16,))
        batch = torch.stack([corpus[s:s + CONTEXT + 1] for s in starts]).to(device)
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print("step %d loss %.3f f1 %.3f" % (step, loss.item(), evaluate(model, prompts, golds)))


if __name__ == "__main__":
    main()
