"""Report: pytorch/pytorch pull request 48743 (2020-12-02), ray-project/ray pull request 50440 (2025-02-11)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Episodes:
    """Swings of a pendulum, seen through a random projection."""

    def __init__(self, episodes=60, length=100, pixels=256, seed=0):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.actions = rng.uniform(-1, 1, (episodes, length, 1)).astype("float32")
        angle, speed = rng.uniform(-3, 3, episodes), np.zeros(episodes)
        look = rng.standard_normal((3, pixels)) / 2
        frames = []
        for t in range(length):
            speed = speed + 0.1 * (np.sin(angle) + self.actions[:, t, 0])
            angle = angle + 0.1 * speed
            frames.append(np.stack([np.cos(angle), np.sin(angle), speed], axis=1) @ look)
        self.frames = np.stack(frames, axis=1).astype("float32")
        self.rewards = np.cos(self.frames[..., :1])

    def sample(self, batch, length):
        e = self.rng.integers(0, len(self.frames), batch)
        s = self.rng.integers(0, self.frames.shape[1] - length, batch)
        cut = lambda a: torch.from_numpy(np.stack([a[i, j:j + length] for i, j in zip(e, s)], axis=1)).to(device)
        return cut(self.frames), cut(self.actions), cut(self.rewards)


def mlp(i, o, hidden=128):
    return nn.Sequential(nn.Linear(i, hidden), nn.ELU(), nn.Linear(hidden, o))


class WorldModel(nn.Module):
    def __init__(self, pixels=256, deter=128, stoch=24):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.encoder = mlp(pixels, 96)
        self.cell = nn.GRUCell(stoch + 1, deter)
        self.prior = mlp(deter, 2 * stoch)
        self.posterior = mlp(deter + 96, 2 * stoch)
        self.decoder = mlp(deter + stoch, pixels)
        self.reward = mlp(deter + stoch, 1)

    @staticmethod
    def gaussian(stats):
        mean, std = stats.chunk(2, dim=-1)
        return Independent(Normal(mean, F.softplus(std) + 0.1), 1)

    def observe(self, frames, actions):
        steps, batch = frames.shape[:2]
        embed = self.encoder(frames)
        h = torch.zeros(batch, self.deter, device=frames.device)
        z = torch.zeros(batch, self.stoch, device=frames.device)
        features, kl = [], []
        for t in range(steps):
            h = self.cell(torch.cat([z, actions[t]], dim=-1), h)
            prior = self.gaussian(self.prior(h))
            post = self.gaussian(self.posterior(torch.cat([h, embed[t]], dim=-1)))
            z = post.rsample()
            kl.append(kl_divergence(post, prior))
            features.append(torch.cat([h, z], dim=-1))
        return torch.stack(features), torch.stack(kl)

    def loss(self, frames, actions, rewards, free_nats=3.0):
        features, kl = self.observe(frames, actions)
        image = Independent(Normal(self.decoder(features), 1.0), 1).log_prob(frames).mean()
        reward = Independent(Normal(self.reward(features), 1.0), 1).log_prob(rewards).mean()
        return kl.mean().clamp(min=free_nats) - image - reward


def main(updates=20, batch=32, length=20):
    torch.manual_seed(0)
    data, model = Episodes(), WorldModel().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=6e-4, eps=1e-5)
    recent = []
    for update in range(1, updates + 1):
        loss = model.loss(*data.sample(batch, length))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        opt.step()
        recent.append(loss.detach())
        if update % 10 == 0:
            print(f"{update}: {torch.stack(recent).mean().item():.2f}")
            recent.clear()


if __name__ == "__main__":
    main()
