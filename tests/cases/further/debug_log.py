"""Report: https://github.com/NVIDIA-NeMo/Emerging-Optimizers/pull/255 "Remove f-string in logging statement" (2026-07-22: "we
dropped ball and had device tensor in f-string in logging"), and https://github.com/vllm-project/vllm-ascend/pull/15552. Head: line 39 formats.
"""
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("optimizers")
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class RowColScaled(torch.optim.Optimizer):
    """Adafactor-like: second moments of the rows and columns."""

    def __init__(self, params, lr=1e-3, beta=0.95, eps=1e-8):
        super().__init__(params, dict(lr=lr, beta=beta, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta, eps = group["beta"], group["eps"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if p.dim() < 2:
                    p.add_(p.grad, alpha=-group["lr"])
                    continue
                if not state:
                    state["factors"] = [torch.zeros(p.shape[i], device=p.device) for i in range(2)]
                update = p.grad
                for idx, factor in enumerate(state["factors"]):
                    factor.mul_(beta).add_(p.grad.square().mean(1 - idx), alpha=1 - beta)
                    scale_factor = (factor + eps).rsqrt().sqrt()
                    logger.debug(f"scale_factor[{idx}]: {scale_factor}")
                    update = update * scale_factor.unsqueeze(1 - idx)
                p.add_(update, alpha=-group["lr"])


class Encoder(nn.Module):
    def __init__(self, vocab=500, dim=64, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.encoder(self.embed(ids)))


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randint(0, 500, (192, 33)))
    loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
    model = Encoder().to(device)
    optimizer = RowColScaled(model.parameters(), lr=1e-3)
    for step, (tokens,) in enumerate(loader):
        tokens = tokens.to(device)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            logger.info("step %d loss %.3f", step, loss.item())


if __name__ == "__main__":
    main()
