"""Report: pytorch/pytorch issue 77753, "Memory usage and epoch iteration time increases indefinitely on M1 pro MPS",
the comment of 2022-06-26: a DataLoader over a TensorDataset whose tensors are on MPS is a hundred times slower than on
the CPU, the GPU is idle.

The DataLoader takes each row by itself and stacks them: 2 x 1024 views and two ops over a thousand tensors to make one
batch, which it could have had by two ops.

A perfect profiler says
  steps          24; batch 1024, no sequence length
  first finding  most of a step is the making of its batch, line LOOP: the data set's tensors are on the device, and
                 each row is taken by itself; index the tensors with the whole batch (x[rows]), or keep the data set on
                 the CPU
  never          more workers: tensors on MPS cannot go to another process
  waits          1, after the last step
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


def main():
    factors, product = torch.rand(24576, 12, device=device), torch.rand(24576, 1, device=device)
    loader = DataLoader(TensorDataset(factors, product), batch_size=1024)
    model = nn.Sequential(nn.Linear(12, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for inputs, targets in loader:  # LOOP
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
