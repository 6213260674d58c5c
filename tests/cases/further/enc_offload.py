"""Report: https://github.com/kohya-ss/sd-scripts/issues/1547 (comment of 2025-07-26: "can I prevent this behavior if I have enough
VRAM? I want faster trainings"), of moving parts of the network to the CPU and back in each step;
https://github.com/ostris/ai-toolkit/pull/668 (2026-01-24) does so with the encoder in encode_images; precomputing instead is told in
https://github.com/cloneofsimo/lora/issues/62 (2022-12-18: "significant time and VRAM savings").

The frozen text encoder is moved to the device for each batch and back to the CPU after it, "to save VRAM". On a Mac both
are the same memory. Only a small denoiser trains.

A perfect profiler says
  steps          30; batch 16
  first finding  the encoder's weights are copied to the device and back in each step: 15 tensors, 52 MiB, each way
                 (lines 63 and 66); the copy back waits for the queue; leave it on the device, or compute the texts'
                 embeddings once, before the training. 66 or 63 may be named first, as long as it is told that weights move
  never          that these are values read for a log, the size of the batch, pin_memory, the loader, a leak
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = "mps" if torch.backends.mps.is_available() else "cpu"


class TextEncoder(nn.Module):
    def __init__(self, vocab=49408, dim=256, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
                                     for _ in range(layers)])
        self.out = nn.Linear(dim, 128)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x.mean(1))


class Denoiser(nn.Module):
    def __init__(self, ch=16, ctx=128):
        super().__init__()
        self.inp = nn.Conv2d(4, ch, 3, padding=1)
        self.cond = nn.Linear(ctx + 1, ch)
        self.mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.out = nn.Conv2d(ch, 4, 3, padding=1)

    def forward(self, x, t, ctx):
        h = F.silu(self.inp(x)) + self.cond(torch.cat([ctx, t[:, None]], 1))[:, :, None, None]
        return self.out(F.silu(self.mid(h)))


class Trainer:
    def __init__(self, low_vram=True):
        self.low_vram = low_vram
        self.text_encoder = TextEncoder().requires_grad_(False).eval()
        if not low_vram:
            self.text_encoder.to(device)
        self.unet = Denoiser().to(device)
        self.opt = torch.optim.AdamW(self.unet.parameters(), lr=1e-4)

    @torch.no_grad()
    def encode(self, ids):
        if self.low_vram:
            self.text_encoder.to(device)
        ctx = self.text_encoder(ids)
        if self.low_vram:
            self.text_encoder.to("cpu")
        return ctx

    def step(self, latents, ids):
        ctx = self.encode(ids)
        noise = torch.randn_like(latents)
        t = torch.rand(len(latents), device=device)
        noisy = latents * (1 - t)[:, None, None, None] + noise * t[:, None, None, None]
        loss = F.mse_loss(self.unet(noisy, t, ctx), noise)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.detach()


torch.manual_seed(0)
trainer = Trainer()
latents = torch.randn(160, 4, 16, 16, device=device)
captions = torch.randint(0, 49408, (160, 8), device=device)
for epoch in range(3):
    running = 0
    for i in range(0, 160, 16):
        running = running + trainer.step(latents[i:i + 16], captions[i:i + 16])
    print(f"epoch {epoch}: loss {running.item() / 10:.4f}")
