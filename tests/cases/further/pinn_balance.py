"""Report: https://github.com/lululxvi/deepxde/issues/1953 (weights of several losses, from their gradients in each step).

A PINN for Burgers' equation, which balances its losses as Wang, Teng and Perdikaris do (arXiv 2001.04536).

A perfect profiler says
  steps          24; batch 1500
  first finding  backward goes through the same graph twice a step: once for each loss by autograd.grad() at line EACH, and
                 then as a whole; Highwater does not find that yet, but names the line of the model for the device's work
  not said       that create_graph is needless, or that memory grows; twice as many samples a second
"""
import math
import torch
import torch.nn as nn

device = torch.device("mps")


class PINN(nn.Module):
    def __init__(self, width=96, depth=5):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def grad(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual(model, x, t, nu=0.01 / math.pi):
    u = model(x, t)
    u_x, u_t = grad(u, x), grad(u, t)
    u_xx = grad(u_x, x)
    return u_t + u * u_x - nu * u_xx


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = PINN().to(device)
        self.params = list(self.model.parameters())
        self.optimizer = torch.optim.Adam(self.params, lr=1e-3)
        self.lam_bc = torch.ones((), device=device)
        self.lam_ic = torch.ones((), device=device)
        self.alpha = 0.9

    def losses(self):
        x = (torch.rand(1500, 1, device=device) * 2 - 1).requires_grad_()
        t = torch.rand(1500, 1, device=device).requires_grad_()
        loss_r = residual(self.model, x, t).pow(2).mean()
        tb = torch.rand(150, 1, device=device)
        one = torch.ones_like(tb)
        loss_bc = self.model(one, tb).pow(2).mean() + self.model(-one, tb).pow(2).mean()
        xi = torch.rand(150, 1, device=device) * 2 - 1
        loss_ic = (self.model(xi, torch.zeros_like(xi)) + torch.sin(math.pi * xi)).pow(2).mean()
        return loss_r, loss_bc, loss_ic

    def flat_grad(self, loss):
        g = torch.autograd.grad(loss, self.params, retain_graph=True, allow_unused=True)  # EACH
        return torch.cat([p.reshape(-1) for p in g if p is not None])

    def update_weights(self, loss_r, loss_bc, loss_ic):
        max_r = self.flat_grad(loss_r).abs().max()
        lam_bc = max_r / self.flat_grad(loss_bc).abs().mean()
        lam_ic = max_r / self.flat_grad(loss_ic).abs().mean()
        self.lam_bc = self.alpha * self.lam_bc + (1 - self.alpha) * lam_bc
        self.lam_ic = self.alpha * self.lam_ic + (1 - self.alpha) * lam_ic

    def train(self, iterations=24):
        for it in range(iterations):
            self.optimizer.zero_grad()
            loss_r, loss_bc, loss_ic = self.losses()
            self.update_weights(loss_r, loss_bc, loss_ic)
            loss = loss_r + self.lam_bc * loss_bc + self.lam_ic * loss_ic
            loss.backward()
            self.optimizer.step()
            if it % 20 == 0:
                print(f"it {it} loss {loss.item():.3e} lam_bc {self.lam_bc.item():.2f} lam_ic {self.lam_ic.item():.2f}")


if __name__ == "__main__":
    Trainer().train()
