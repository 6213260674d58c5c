"""Sentiment of short reviews with a small transformer encoder."""
import random
import time
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("mps")
VOCAB, PAD, MAX_LENGTH = 4000, 0, 128


class Reviews(Dataset):
    def __init__(self, count=400, seed=9):
        rng = random.Random(seed)
        self.items = []
        for _ in range(count):
            length = min(MAX_LENGTH, max(8, int(rng.gauss(40, 15))))
            self.items.append(([rng.randrange(1, VOCAB) for _ in range(length)], rng.randrange(2)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    length = MAX_LENGTH
    ids = torch.full((len(items), length), PAD)
    for row, (tokens, _) in enumerate(items):
        ids[row, :len(tokens)] = torch.tensor(tokens)
    return ids, torch.tensor([label for _, label in items])


class Classifier(nn.Module):
    def __init__(self, dim=96, layers=2, heads=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.position = nn.Embedding(MAX_LENGTH, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        mask = ids == PAD
        x = self.embed(ids) + self.position.weight[:ids.shape[1]]
        x = self.encoder(x, src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).to(x.dtype)
        return self.head((x * keep).sum(1) / keep.sum(1))


def main(epochs=1):
    torch.manual_seed(0)
    loader = DataLoader(Reviews(), batch_size=16, shuffle=True, collate_fn=collate, drop_last=True)
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    begin = time.time()
    for epoch in range(epochs):
        total = torch.zeros((), device=device)
        for ids, labels in loader:
            ids, labels = ids.to(device), labels.to(device)
            loss = F.cross_entropy(model(ids), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch} loss {total.item() / len(loader):.4f} {time.time() - begin:.1f}s", flush=True)


if __name__ == "__main__":
    main()
