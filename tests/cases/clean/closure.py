"""A fit by a closure, which is called by the optimizer: all of its work lies in optimizer.step()."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"


def main():
    model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    inputs, targets = torch.rand(4096, 64, device=device), torch.rand(4096, 1, device=device)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        return loss

    for _ in range(30):
        loss = optimizer.step(closure)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
