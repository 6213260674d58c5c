"""Report: scverse/scvi-tools pull request 3981, "Take the MPS CPU detour only when the torch build needs it"
(2026-09-07): MPS has no sparse compressed tensors, so each batch of counts is made dense on the host before it is
moved.

A perfect profiler says
  steps          40; batch 1024, no sequence length
  first finding  the script's own work on the host, line DENSE, takes most of a step while the device has nothing to do:
                 making the batch dense on the CPU; make the data dense once, or move indices and values and scatter
                 them on the device
  never          more workers (the work is the loop's, not the loader's), queueing, a larger batch, torch.compile
  waits          the move of the batch, 40
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
CELLS, GENES = 1024, 200


def counts(generator):
    """Cells in compressed rows: 5 % of the genes each."""
    genes = np.sort(generator.integers(GENES, size=(CELLS, GENES // 20)), axis=1)
    return genes, generator.poisson(3.0, genes.shape).astype(np.float32)


def dense(genes, values):
    result = torch.zeros(CELLS, GENES)
    for row, (columns, numbers) in enumerate(zip(genes, values)):
        result[row].index_add_(0, torch.from_numpy(columns), torch.from_numpy(numbers))  # DENSE
    return result


def main():
    generator = np.random.default_rng(0)
    batches = [counts(generator) for _ in range(4)]
    model = nn.Sequential(nn.Linear(GENES, 32), nn.ReLU(), nn.Linear(32, GENES)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(40):
        cells = dense(*batches[step % 4]).to(device)
        loss = nn.functional.poisson_nll_loss(model(cells), cells)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
