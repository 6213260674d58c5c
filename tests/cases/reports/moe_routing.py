"""Report: jingyaogong/minimind issue 835, "MoE feed-forward performs ~3 x num_experts device-host syncs per layer, per
forward" (2026-09-03); minimind is trained on Macs as well (pull request 852, 2026-09-09).

A mixture of experts: each layer asks for each expert whether a token goes there, and which, so that the host waits
three times an expert. What is read decides what is queued next: it is no logging.

A perfect profiler says
  steps          25; batch 8, sequence length 32
  first finding  the routing is waited for: lines ANY (a condition), WHICH (nonzero) and WEIGHT (a boolean index, which
                 waits once more in backward), 2 layers x 4 experts x 4 = 32 waits a step; sort the tokens by expert and
                 read the counts once a layer, or compute without a condition
  waits          those, and the loss after the last step; fallbacks none
"""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


class Experts(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                                     for _ in range(count))

    def forward(self, hidden):
        flat = hidden.flatten(0, 1)
        weights, chosen = self.gate(flat).softmax(-1).topk(2)
        result = torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            mask = chosen == index
            if mask.any():  # ANY
                tokens = mask.any(-1).nonzero().flatten()  # WHICH
                weight = weights[mask].unsqueeze(-1)  # WEIGHT
                result.index_add_(0, tokens, expert(flat[tokens]) * weight)
        return hidden + result.view_as(hidden)


def main():
    model = nn.Sequential(nn.Embedding(300, 128), Experts(128, 4), Experts(128, 4), nn.Linear(128, 300)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    texts = torch.randint(300, (8, 33), device=device)
    for _ in range(25):
        loss = nn.functional.cross_entropy(model(texts[:, :-1]).flatten(0, 1), texts[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
