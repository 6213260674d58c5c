"""Report: https://github.com/emtiyaz/vadam/pull/2 "Fix memory issue" (2018-12-13: tensors of the VOGN optimizer are not detached
from the graph and pile up; memory rises linearly, which makes VOGN impossible with limited memory).
FIRST: memory grows by 1.0 MiB a step without end: the optimizer's running averages (VOGN.step, lines 45 and 46:
self.prec[i] = beta * self.prec[i] + ...) keep the graph of every step; to do: detach (or torch.no_grad()) there.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class VOGN(torch.optim.Optimizer):
    """Variational online Gauss-Newton, for the Linear layers of a model."""

    def __init__(self, model, n, lr=1e-3, betas=(0.9, 0.999), prior=1.0):
        super().__init__(model.parameters(), dict(lr=lr, betas=betas))
        self.layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
        self.n, self.prior = n, prior
        self.momentum = [torch.zeros_like(l.weight) for l in self.layers]
        self.prec = [torch.full_like(l.weight, 1e-3) for l in self.layers]
        for l in self.layers:
            l.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        module.inp, module.out = inputs[0], output

    def step(self, closure):
        group = self.param_groups[0]
        beta1, beta2 = group["betas"]
        with torch.no_grad():
            mus = [l.weight.clone() for l in self.layers]
            for l, prec in zip(self.layers, self.prec):
                l.weight.add_(torch.randn_like(l.weight) * (1.0 / (self.n * (prec + self.prior))).sqrt())
        loss = closure()
        outs = [l.out for l in self.layers]
        grads = torch.autograd.grad(loss, outs + [l.bias for l in self.layers], retain_graph=True)
        for l, mu in zip(self.layers, mus):
            l.weight.data.copy_(mu)
        k = len(self.layers)
        for i, l in enumerate(self.layers):
            g = grads[i]
            grad = g.t() @ l.inp
            ggn = (g ** 2).t() @ (l.inp ** 2) * g.shape[0]
            self.momentum[i] = beta1 * self.momentum[i] + (1 - beta1) * grad
            self.prec[i] = beta2 * self.prec[i] + (1 - beta2) * ggn
            l.weight.data.add_(self.momentum[i] / (self.prec[i] + self.prior / self.n), alpha=-group["lr"])
            l.bias.data.add_(grads[k + i], alpha=-group["lr"])
        return loss


torch.manual_seed(0)
x_all = torch.randn(2048, 64, device=device)
y_all = (x_all[:, 0] * x_all[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 2)).to(device)
optimizer = VOGN(model, len(x_all))
for it in range(120):
    i = (it * 128) % 2048
    x, y = x_all[i:i + 128], y_all[i:i + 128]

    def closure():
        optimizer.zero_grad()
        return F.cross_entropy(model(x), y)

    loss = optimizer.step(closure)
    if it % 40 == 0:
        print(it, loss.item())
