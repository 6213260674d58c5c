"""Report: after lululxvi/deepxde issues on L-BFGS with PyTorch on a Mac: a PINN, Adam first, then L-BFGS."""
import time

import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self, width=96, depth=4):
        super().__init__()
        sizes = [2] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(sizes, sizes[1:]))
        self.last = nn.Linear(width, 1)

    def forward(self, xt):
        for layer in self.layers:
            xt = torch.tanh(layer(xt))
        return self.last(xt)


class Heat:
    """u_t = 0.1 u_xx on the unit square, u(x, 0) = sin(pi x), u = 0 at the rims"""

    def __init__(self, inside=1500, rim=200):
        self.inside = torch.rand(inside, 2, device=device).requires_grad_()
        start = torch.rand(rim, 1)
        self.start = torch.cat([start, torch.zeros_like(start)], 1).to(device)
        self.wanted = torch.sin(torch.pi * start).to(device)
        self.rims = torch.cat([torch.randint(2, (rim, 1)).float(), torch.rand(rim, 1)], 1).to(device)

    def loss(self, net):
        u = net(self.inside)
        first, = torch.autograd.grad(u.sum(), self.inside, create_graph=True)
        second, = torch.autograd.grad(first[:, 0].sum(), self.inside, create_graph=True)
        residual = first[:, 1] - 0.1 * second[:, 0]
        return residual.square().mean() + (net(self.start) - self.wanted).square().mean() + net(self.rims).square().mean()


def main():
    net, heat = Net().to(device), Heat()
    begin = time.perf_counter()
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(40):
        adam.zero_grad()
        loss = heat.loss(net)
        loss.backward()
        adam.step()
    print(f"Adam {loss.item():.4f}, {time.perf_counter() - begin:.2f} s")
    lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=10, history_size=10, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = heat.loss(net)
        loss.backward()
        return loss

    for _ in range(8):
        loss = lbfgs.step(closure)
    print(f"L-BFGS {loss.item():.4f}, {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
