"""DCGAN on 32x32 faces."""
import time
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")
LATENT = 64


def generator(width=48):
    return nn.Sequential(
        nn.ConvTranspose2d(LATENT, 4 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(True),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh(),
    )


def discriminator(width=12):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.Conv2d(width, 2 * width, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.Conv2d(2 * width, 4 * width, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.Conv2d(4 * width, 1, 4), nn.Flatten(),
    )


class Trainer:
    def __init__(self, critic_steps=3):
        self.g, self.d = generator().to(device), discriminator().to(device)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.criterion = nn.BCEWithLogitsLoss()
        self.critic_steps = critic_steps

    def noise(self, n):
        return torch.randn(n, LATENT, 1, 1, device=device)

    def step_d(self, real):
        fake = self.g(self.noise(len(real)))
        self.opt_d.zero_grad(set_to_none=True)
        on_real, on_fake = self.d(real), self.d(fake)
        loss = self.criterion(on_real, torch.ones_like(on_real)) + self.criterion(on_fake, torch.zeros_like(on_fake))
        loss.backward()
        self.opt_d.step()
        return loss.detach()

    def step_g(self, n):
        self.opt_g.zero_grad(set_to_none=True)
        out = self.d(self.g(self.noise(n)))
        loss = self.criterion(out, torch.ones_like(out))
        loss.backward()
        self.opt_g.step()
        return loss.detach()


def main(epochs=1, count=512):
    torch.manual_seed(0)
    faces = torch.rand(count, 3, 32, 32) * 2 - 1
    loader = DataLoader(TensorDataset(faces), batch_size=32, shuffle=True, drop_last=True)
    trainer = Trainer()
    begin = time.time()
    for epoch in range(epochs):
        for (real,) in loader:
            real = real.to(device)
            for _ in range(trainer.critic_steps):
                loss_d = trainer.step_d(real)
            loss_g = trainer.step_g(len(real))
        print(f"epoch {epoch} D {loss_d.item():.3f} G {loss_g.item():.3f} {time.time() - begin:.1f}s", flush=True)


if __name__ == "__main__":
    main()
