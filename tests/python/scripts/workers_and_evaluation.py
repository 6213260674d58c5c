import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((5,), index / self.count), torch.tensor(float(index % 2))


def main():
    torch.manual_seed(3)
    train = DataLoader(Numbers(40), batch_size=8, shuffle=True, num_workers=2)
    valid = DataLoader(Numbers(20), batch_size=10, num_workers=2)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    loss_of = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.RMSprop(model.parameters())
    for epoch in range(2):
        model.train()
        for inputs, targets in train:
            loss = loss_of(model(inputs)[:, 0], targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            total = sum(loss_of(model(inputs)[:, 0], targets).item() for inputs, targets in valid)
        print(epoch, loss.item().hex(), total.hex())


if __name__ == "__main__":
    main()
