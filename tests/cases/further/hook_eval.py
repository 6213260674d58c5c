"""Report: https://github.com/meta-pytorch/opacus/issues/176, "torch.no_grad() creates memory leak because of forward
hook" (2021-05-16): hooks keep each layer's input for the gradient of each sample, and the backward takes them away. An
evaluation under no_grad, with the model still in training mode, has no backward: what it keeps is never taken.

A perfect profiler says
  steps          5 epochs x 10 = 50; batch 64, and an evaluation of 8 batches after each epoch
  first finding  memory grows with each evaluation, by about 20 MiB (8 batches of 256 x three inputs), not in the
                 training steps: the hook's list (line 33) keeps the layers' inputs, run from evaluate (line 51);
                 keep nothing where no gradient is wanted (torch.is_grad_enabled()), or switch to eval() / clear the list
  never          each training step leaves memory, a smaller batch, empty_cache, the loss keeps a graph
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class GradSampleModule(nn.Module):
    """Wraps a model so that each parameter gets the norm of each sample's gradient."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                layer.activations = []
                layer.register_forward_hook(self.capture_activations)
                layer.register_full_backward_hook(self.capture_backprops)

    def capture_activations(self, layer, inputs, output):
        if layer.training:
            layer.activations.append(inputs[0].detach())

    def capture_backprops(self, layer, grad_input, grad_output):
        activation = layer.activations.pop()
        layer.sample_norm = activation.norm(dim=1) * grad_output[0].norm(dim=1)

    def forward(self, x):
        return self.module(x)


def sample_norms(model):
    return sum(layer.sample_norm ** 2 for layer in model.modules() if hasattr(layer, "sample_norm")).sqrt()


def evaluate(model, x_test, y_test):
    right = torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in zip(x_test.split(256), y_test.split(256)):
            right += (model(x).argmax(1) == y).sum()
    return right.item() / len(x_test)


def train():
    torch.manual_seed(0)
    x_train, y_train = torch.randn(640, 784, device=device), torch.randint(0, 10, (640,), device=device)
    x_test, y_test = torch.randn(2048, 784, device=device), torch.randint(0, 10, (2048,), device=device)
    model = GradSampleModule(nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                                           nn.Linear(1024, 10))).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(5):
        model.train()
        for idx in torch.randperm(640, device=device).split(64):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            loss.backward()
            clip = (1.0 / sample_norms(model)).clamp(max=1.0).mean()
            for p in model.parameters():
                p.grad.mul_(clip)
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {evaluate(model, x_test, y_test):.3f}")


train()

# Measured (simulated device, machine loaded, twin in twin/hook_eval.py): 16 MiB an evaluation (the input of the first layer is a view of the test set: no third input); with is_grad_enabled() none.
