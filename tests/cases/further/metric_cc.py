"""Report: https://github.com/Lightning-AI/pytorch-lightning/issues/3050 "The speed of training is slow" (2020-08-19): in each
training step the masks go to the CPU and a dice with connected components is computed picture by picture (head: lines 42 to 61).
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Masks(Dataset):
    def __init__(self, n=640, size=48):
        self.images = torch.randn(n, 3, size, size)
        self.masks = (F.avg_pool2d(torch.randn(n, 1, size, size), 7, 1, 3) > 0.1).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2 = conv(3, 8), conv(8, 8)
        self.dec = conv(16, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        return self.head(self.dec(torch.cat([a, F.interpolate(b, scale_factor=2.0)], 1)))


def connected_components(mask):
    labels, count = np.zeros(mask.shape, np.int32), 0
    for y, x in zip(*np.nonzero(mask)):
        if labels[y, x]:
            continue
        count += 1
        stack = [(y, x)]
        labels[y, x] = count
        while stack:
            cy, cx = stack.pop()
            for ny, nx in ((cy + 1, cx), (cy - 1, cx), (cy, cx + 1), (cy, cx - 1)):
                if 0 <= ny < mask.shape[0] and 0 <= nx < mask.shape[1] and mask[ny, nx] and not labels[ny, nx]:
                    labels[ny, nx] = count
                    stack.append((ny, nx))
    return count, labels


def post_process(probability, threshold, min_size):
    count, labels = connected_components(probability > threshold)
    prediction = np.zeros(probability.shape, np.float32)
    for c in range(1, count + 1):
        component = labels == c
        if component.sum() > min_size:
            prediction[component] = 1
    return prediction


def dice_metric(probabilities, truths):
    scores = []
    for p, t in zip(probabilities, truths):
        p, t = post_process(p[0], 0.5, 8), post_process(t[0], 0.5, 8)
        scores.append((2 * (p * t).sum() + 1e-6) / (p.sum() + t.sum() + 1e-6))
    return float(np.mean(scores))


class Module:
    def __init__(self):
        self.model = SmallUNet().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.dices = []

    def training_step(self, batch):
        image, mask = batch[0].to(device), batch[1].to(device)
        output = self.model(image)
        loss = F.binary_cross_entropy_with_logits(output, mask)
        train_preds = torch.sigmoid(output).detach().cpu().numpy()
        train_targets = mask.detach().cpu().numpy()
        self.dices.append(dice_metric(train_preds, train_targets))
        return loss

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for batch in loader:
                self.optimizer.zero_grad()
                self.training_step(batch).backward()
                self.optimizer.step()
            print("epoch %d dice %.3f" % (epoch, np.mean(self.dices[-len(loader):])))


if __name__ == "__main__":
    torch.manual_seed(0)
    Module().fit(DataLoader(Masks(), batch_size=16, shuffle=True), epochs=2)
