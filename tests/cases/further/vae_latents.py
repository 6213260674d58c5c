"""Report: https://github.com/huggingface/diffusers/pull/6076 "Cache latents to avoid VAE passes for every training step"
(2023-12-06; the same in https://github.com/unslothai/unsloth/pull/6838, 2026-07-03).
FIRST: half of the device's time goes to the frozen encoder (line 57, its modules at line 20), which is no evaluation: the
pictures are the same in each epoch; to do: encode once and keep the latents.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Encoder(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, c, 3, 1, 1), nn.SiLU(), nn.Conv2d(c, c, 3, 2, 1), nn.SiLU(),
                                 nn.Conv2d(c, 2 * c, 3, 2, 1), nn.SiLU(), nn.Conv2d(2 * c, 8, 3, 2, 1))

    def encode(self, x):
        mean, logvar = self.net(x).chunk(2, 1)
        return mean + torch.randn_like(mean) * torch.exp(0.5 * logvar.clamp(-10, 2))


class UNet(nn.Module):
    def __init__(self, c=48):
        super().__init__()
        self.inp = nn.Conv2d(4, c, 3, 1, 1)
        self.t = nn.Linear(16, c)
        self.mid = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1) for _ in range(4))
        self.out = nn.Conv2d(c, 4, 3, 1, 1)

    def forward(self, x, t):
        f = torch.exp(torch.arange(8, device=x.device) * -1.0)
        emb = t[:, None] * f
        h = self.inp(x) + self.t(torch.cat([emb.sin(), emb.cos()], -1))[:, :, None, None]
        for m in self.mid:
            h = h + F.silu(m(h))
        return self.out(h)


torch.manual_seed(0)
vae = Encoder().to(device).eval()
vae.requires_grad_(False)
unet = UNet().to(device)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, device=device), 0)
images = torch.randn(16, 3, 128, 128)
dataset = torch.utils.data.TensorDataset(images)
loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True)

step = 0
for epoch in range(25):
    for (pixels,) in loader:
        pixels = pixels.to(device)
        # convert images to latent space
        with torch.no_grad():
            latents = vae.encode(pixels) * 0.18215
        noise = torch.randn_like(latents)
        t = torch.randint(0, 1000, (latents.shape[0],), device=device)
        a = alphas[t][:, None, None, None]
        pred = unet(a.sqrt() * latents + (1 - a).sqrt() * noise, t.float())
        loss = F.mse_loss(pred, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(step, loss.item())
        step += 1
