"""Report: ultralytics/ultralytics issue 2794, "NMS time limit 2.100s exceeded ... when I set device=mps" (2023-05-24)."""
import time

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
CLASSES, GRID, EPOCHS, STEPS, BATCH = 4, 16, 2, 12, 8


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.SiLU())
        self.body = nn.Sequential(block(3, 16), block(16, 32), nn.Conv2d(32, 32, 3, 1, 1), nn.SiLU())
        self.head = nn.Conv2d(32, 4 + CLASSES, 1)
        nn.init.normal_(self.head.weight, std=4.0)  # stands for trained weights: boxes all over the image

    def forward(self, images):
        out = self.head(self.body(images)).flatten(2).transpose(1, 2)
        return out[..., :4].sigmoid(), out[..., 4:]


def detection_loss(boxes, logits, targets):
    wanted_boxes, wanted_classes = targets
    return F.l1_loss(boxes, wanted_boxes) + F.cross_entropy(logits.flatten(0, 1), wanted_classes.flatten())


def iou(box, others):
    left_top = torch.maximum(box[:2], others[:, :2])
    right_bottom = torch.minimum(box[2:], others[:, 2:])
    inner = (right_bottom - left_top).clamp(min=0).prod(1)
    return inner / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - inner)


def non_max_suppression(boxes, logits, confidence=0.001, threshold=0.6, most=60):
    found = []
    for image_boxes, image_logits in zip(boxes, logits):
        scores, classes = image_logits.softmax(-1).max(-1)
        keep = scores > confidence
        centre, size = image_boxes[keep][:, :2], image_boxes[keep][:, 2:] * 0.3
        corners = torch.cat([centre - size / 2, centre + size / 2], 1)
        order = scores[keep].argsort(descending=True)
        picked = []
        while len(order) and len(picked) < most:
            picked.append(order[0])
            order = order[1:][iou(corners[order[0]], corners[order[1:]]) < threshold]
        found.append(corners[torch.stack(picked)])
    return found


def batch():
    images = torch.rand(BATCH, 3, 64, 64)
    targets = torch.rand(BATCH, GRID * GRID, 4), torch.randint(CLASSES, (BATCH, GRID * GRID))
    return images.to(device), tuple(t.to(device) for t in targets)


@torch.no_grad()
def validate(model):
    model.eval()
    count = 0
    for _ in range(5):
        images, _ = batch()
        boxes, logits = model(images)
        for detections in non_max_suppression(boxes, logits):
            count += len(detections)
    model.train()
    return count


def main():
    model = Detector().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    begin = time.perf_counter()
    for epoch in range(EPOCHS):
        for _ in range(STEPS):
            images, targets = batch()
            loss = detection_loss(*model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, {validate(model)} detections")
    print(f"{time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
