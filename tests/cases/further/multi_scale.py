"""Report: https://github.com/facebookresearch/detectron2/issues/163, "Why GPU memory keeps increasing in training?" (2019-10-24; the
answer: it rises at the beginning and stops, this is expected: pictures have different sizes and what was allocated is
not given back). Multi-scale training as detectors do it: five sizes, a new one every fourth batch. Nothing to do.

A perfect profiler says
  steps          48; batch 16 of 3 x (32, 40, 48, 56 or 64) squared
  no finding     driver memory rises until each size was seen (step 20 at the latest) and stays there; live memory follows the
                 size; the device is busy; one read at the end
  never          memory grows, a leak, pad to one size (five sizes are few), empty_cache, reads, steps of uneven time
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
SIZES = [48, 40, 56, 32, 64]


def conv(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())


class Detector(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.backbone = nn.Sequential(conv(3, 32, 2), conv(32, 48), conv(48, 64, 2), conv(64, 64))
        self.head = nn.Conv2d(64, 5 + classes, 1)

    def forward(self, x):
        return self.head(self.backbone(x))


def yolo_loss(out, boxes, labels):
    n, _, h, w = out.shape
    cx, cy = (boxes[:, 0] * w).long(), (boxes[:, 1] * h).long()
    row = torch.arange(n, device=out.device)
    at = out[row, :, cy, cx]
    objectness = torch.zeros(n, h, w, device=out.device).index_put((row, cy, cx), torch.ones(n, device=out.device))
    return (F.binary_cross_entropy_with_logits(out[:, 4], objectness)
            + F.smooth_l1_loss(at[:, :4].sigmoid(), boxes)
            + F.cross_entropy(at[:, 5:], labels))


def main():
    torch.manual_seed(0)
    images = torch.rand(192, 3, 64, 64, device=device)
    boxes = torch.rand(192, 4, device=device) * 0.99
    labels = torch.randint(0, 8, (192,), device=device)
    model = Detector().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, foreach=True)
    step, running = 0, torch.zeros((), device=device)
    for epoch in range(4):
        for i in range(0, 192, 16):
            size = SIZES[step // 4 % len(SIZES)]
            x = F.interpolate(images[i:i + 16], size=(size, size), mode="bilinear", align_corners=False)
            loss = yolo_loss(model(x), boxes[i:i + 16], labels[i:i + 16])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.detach()
            step += 1
    print(f"{step} steps, mean loss {running.item() / step:.4f}")


main()
