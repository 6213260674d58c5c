"""Report: https://github.com/Tencent/ObjectDetection-OneStageDet/issues/77 (a loss that loops over pictures and boxes).

A detector's loss goes through pictures and boxes in Python, with some twenty small ops a box.

A perfect profiler says
  steps          16; batch 16
  first finding  host-bound: YoloLoss.forward(), the loop; do it for all boxes at once
  not said       that the device is the bottleneck; loading
"""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
GRID, CLASSES, BOXES = 8, 5, 6
ANCHORS = torch.tensor([[0.1, 0.1], [0.25, 0.2], [0.5, 0.5]])


class TinyYolo(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 16, 32, 64)
        self.body = nn.Sequential(*[
            nn.Sequential(nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(b), nn.SiLU())
            for a, b in zip(widths, widths[1:])])
        self.head = nn.Conv2d(64, len(ANCHORS) * (5 + CLASSES), 1)

    def forward(self, x):
        y = self.head(self.body(x))
        return y.view(len(x), len(ANCHORS), 5 + CLASSES, GRID, GRID).permute(0, 1, 3, 4, 2)


class YoloLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("anchors", ANCHORS)

    def forward(self, pred, boxes, labels):
        obj = torch.zeros(pred.shape[:4], device=pred.device)
        box_loss = cls_loss = 0.0
        for i in range(pred.shape[0]):
            for j in range(boxes.shape[1]):
                cx, cy, w, h = boxes[i, j].unbind()
                gx = (cx * GRID).long().clamp(0, GRID - 1)
                gy = (cy * GRID).long().clamp(0, GRID - 1)
                inter = torch.min(self.anchors[:, 0], w) * torch.min(self.anchors[:, 1], h)
                union = self.anchors.prod(1) + w * h - inter
                best = (inter / union).argmax()
                index = (best * GRID + gy) * GRID + gx
                p = pred[i].reshape(-1, 5 + CLASSES).index_select(0, index.view(1)).squeeze(0)
                obj[i].view(-1).index_fill_(0, index.view(1), 1.0)
                txy = torch.stack([cx * GRID - gx, cy * GRID - gy])
                twh = torch.log(torch.stack([w, h]) * 4 + 1e-6)
                box_loss = box_loss + F.mse_loss(p[:2].sigmoid(), txy) + F.mse_loss(p[2:4], twh)
                cls_loss = cls_loss + F.cross_entropy(p[5:].unsqueeze(0), labels[i, j].unsqueeze(0))
        count = pred.shape[0] * boxes.shape[1]
        obj_loss = F.binary_cross_entropy_with_logits(pred[..., 4], obj)
        return (box_loss + cls_loss) / count + obj_loss


def make_data(n=256):
    g = torch.Generator().manual_seed(0)
    images = torch.rand(n, 3, 64, 64, generator=g)
    boxes = torch.rand(n, BOXES, 4, generator=g) * 0.8 + 0.1
    labels = torch.randint(0, CLASSES, (n, BOXES), generator=g)
    return TensorDataset(images, boxes, labels)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=16, shuffle=True, drop_last=True)
    model, criterion = TinyYolo().to(device), YoloLoss().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    start, step = time.time(), 0
    for epoch in range(1):
        total = torch.zeros((), device=device)
        for images, boxes, labels in loader:
            images, boxes, labels = images.to(device), boxes.to(device), labels.to(device)
            loss = criterion(model(images), boxes, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.detach()
            step += 1
        print(f"epoch {epoch}: loss {total.item() / len(loader):.3f}, "
              f"{(time.time() - start) / step * 1e3:.0f} ms a step")


if __name__ == "__main__":
    main()
