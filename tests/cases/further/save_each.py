"""Report: https://github.com/eriklindernoren/PyTorch-YOLOv3/issues/173, "training weights saving very slow" (2019-05-13):
the test of the interval stands in the loop over the batches, so that the weights are saved after each batch of an epoch
instead of once.

A perfect profiler says
  steps          2 epochs x 20 = 40; batch 8
  first finding  torch.save, line 61, takes most of a step: each step waits for the queue, copies all weights (19 MiB) to
                 the host and writes them; save once an epoch (or each some hundred steps)
  never          the loss, a larger batch, the loader; that the weights' copies are reads of numbers to be logged
"""
import os
import shutil
import tempfile
import time

import torch
import torch.nn as nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
EPOCHS, CHKPT_INTERVAL = 2, 1


class TinyYolo(nn.Module):
    def __init__(self, anchors=3, classes=4):
        super().__init__()
        channels, layers = [3, 16, 32, 64, 128], []
        for i, o in zip(channels, channels[1:]):
            layers += [nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.1)]
        for o in (256, 512, 640):
            layers += [nn.Conv2d(layers[-3].out_channels, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.1)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Conv2d(640, anchors * (5 + classes), 1)

    def forward(self, x):
        return self.head(self.features(x))


def yolo_loss(pred, target):
    box, obj = pred[:, :4], pred[:, 4:5]
    return ((box - target[:, :4]) ** 2).mean() + nn.functional.binary_cross_entropy_with_logits(obj, target[:, 4:5])


def main():
    torch.manual_seed(0)
    folder = tempfile.mkdtemp(prefix="checkpoints")
    images = torch.rand(160, 3, 32, 32)
    targets = torch.rand(160, 5, 2, 2)
    model = TinyYolo().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    start, saving = time.perf_counter(), 0.0
    for epoch in range(EPOCHS):
        for batch_i in range(20):
            imgs = images[batch_i * 8:batch_i * 8 + 8].to(device)
            target = targets[batch_i * 8:batch_i * 8 + 8].to(device)
            loss = yolo_loss(model(imgs), target)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if epoch % CHKPT_INTERVAL == 0:
                t = time.perf_counter()
                torch.save(model.state_dict(), os.path.join(folder, "yolov3_ckpt_%d.pth" % epoch))
                saving += time.perf_counter() - t
        print("epoch %d loss %.4f" % (epoch, loss.item()))
    print("%.1f s, of which saving %.1f s" % (time.perf_counter() - start, saving))
    shutil.rmtree(folder)


main()

# Measured (simulated device, machine loaded, twin in twin/save_each.py): 82 ms a step, saved once an epoch 40 ms; the script counts 3.4 s of 3.7 s in torch.save, waits for the queue included.
