"""Report: https://github.com/pytorch/pytorch/issues/7343, "[memory leak] create_graph=True" (2018-05-07, still open), and
https://github.com/pytorch/pytorch/issues/4661 (warning since then); as meta-learning https://github.com/metaopt/torchopt/pull/113:
"we previously created the inner network in the for-loop ... that was the cause of the memory leak".

MAML: for each task the model is copied, and the inner step's gradients come from loss.backward(create_graph=True). The
copy's parameters hold gradients, whose graph holds the parameters: a cycle that Python's collector cannot see. No copy
is ever freed.

A perfect profiler says
  steps          40; 3 tasks a step, batch 32 each
  first finding  memory grows in each step, by about 3 x (copy and its gradients 2 x 1.3 MiB + what the graph keeps):
                 what is kept was made in adapt (the copy, line 54; its forward, line 55; backward, line 56) and stays
                 alive because of backward(create_graph=True), line 56: use torch.autograd.grad(..., create_graph=True),
                 or set the copy's gradients to None after the task
  never          a list or a loss that is kept, detach the loss or predictions, empty_cache, a smaller batch, the read
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
INNER_LR = 0.05


class Classifier(nn.Module):
    def __init__(self, ways=5):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(784, 320), nn.ReLU(),
            nn.Linear(320, 256), nn.ReLU(),
            nn.Linear(256, ways))

    def forward(self, x):
        return self.net(x)


class Tasks:
    def __init__(self, classes=60, shots=32):
        self.means = torch.randn(classes, 784, device=device)
        self.shots = shots

    def sample(self, ways=5):
        chosen = torch.randperm(len(self.means))[:ways].to(device)
        y = torch.arange(self.shots, device=device) % ways
        support = self.means[chosen][y] + torch.randn(self.shots, 784, device=device)
        query = self.means[chosen][y] + torch.randn(self.shots, 784, device=device)
        return support, query, y


def adapt(model, x, y):
    learner = copy.deepcopy(model)
    loss = F.cross_entropy(learner(x), y)
    loss.backward(create_graph=True)
    fast = {name: p - INNER_LR * p.grad for name, p in learner.named_parameters()}
    return learner, fast


def main():
    torch.manual_seed(0)
    model = Classifier().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tasks = Tasks()
    for step in range(40):
        optimizer.zero_grad()
        total = torch.zeros((), device=device)
        for _ in range(3):
            support, query, y = tasks.sample()
            learner, fast = adapt(model, support, y)
            query_loss = F.cross_entropy(functional_call(learner, fast, (query,)), y)
            grads = torch.autograd.grad(query_loss, list(learner.parameters()))
            for p, g in zip(model.parameters(), grads):
                p.grad = g.detach() / 3 if p.grad is None else p.grad + g.detach() / 3
            total += query_loss.detach()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: query loss {total.item() / 3:.4f}")


if __name__ == "__main__":
    main()
