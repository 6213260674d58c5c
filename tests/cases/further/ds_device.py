"""Report: https://github.com/PaccMann/paccmann_datasets/issues/105 "Device handling in Datasets" (2020-12-08: "most of the time
we end up calling tensor.to(device) in __getitem__"). Head: 384 copies a step at 37 to 39; move the batch once.
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

ALPHABET = "CNOFSPclnos()=#123[]+-"
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class SMILESEncoder:
    def __init__(self, length=64):
        self.index = {c: i + 1 for i, c in enumerate(ALPHABET)}
        self.length = length

    def __call__(self, smiles):
        ids = [self.index[c] for c in smiles][:self.length]
        return ids + [0] * (self.length - len(ids))


class DrugAffinityDataset(Dataset):
    def __init__(self, n, device):
        self.device = device
        self.smiles = ["".join(random.choices(ALPHABET, k=random.randint(20, 64))) for _ in range(n)]
        self.proteins = [[random.randint(1, 25) for _ in range(100)] for _ in range(n)]
        self.labels = [random.random() for _ in range(n)]
        self.encode = SMILESEncoder()

    def __len__(self):
        return len(self.smiles)

    def __getitem__(self, index):
        ligand = torch.tensor(self.encode(self.smiles[index]), device=self.device)
        protein = torch.tensor(self.proteins[index], device=self.device)
        label = torch.tensor([self.labels[index]], device=self.device)
        return ligand, protein, label


class BimodalMCA(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.ligand, self.protein = nn.Embedding(32, dim), nn.Embedding(32, dim)
        self.conv_l, self.conv_p = nn.Conv1d(dim, 64, 5, padding=2), nn.Conv1d(dim, 64, 11, padding=5)
        self.head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 1))

    def forward(self, ligand, protein):
        a = F.relu(self.conv_l(self.ligand(ligand).transpose(1, 2))).amax(2)
        b = F.relu(self.conv_p(self.protein(protein).transpose(1, 2))).amax(2)
        return self.head(torch.cat([a, b], 1))


def train(model, loader, optimizer):
    model.train()
    total = torch.zeros((), device=device)
    for ligand, protein, y in loader:
        prediction = model(ligand, protein)
        loss = F.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item() / len(loader)


def main():
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(DrugAffinityDataset(2560, device), batch_size=128, shuffle=True)
    model = BimodalMCA().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1):
        print("epoch %d mse %.4f" % (epoch, train(model, loader, optimizer)))


if __name__ == "__main__":
    main()
