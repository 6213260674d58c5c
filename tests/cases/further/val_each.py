"""Report: https://github.com/Megvii-BaseDetection/BEVDepth/issues/35, "How to perform validation at each training iteration?"
(2022-08-22), and https://github.com/ramanathanlab/genslm/issues/10, "val_check_interval = 100 is probably too small" (2022-02-12: it
just slows the training).

After each training batch the whole validation set goes through the model, for a smooth curve: 6 batches of 64 for one
of 32. The validation itself is as it should be (eval, no_grad, sums on the device).

A perfect profiler says
  steps          20; batch 32; 20 evaluations of 6 batches of 64
  first finding  evaluations take most of the run (about three quarters): validate is called after each training step, line
                 61; call it once an epoch or each some hundred steps, or on a part of the set
  then           one read a validation, line 45
  never          the training step, its batch, queueing, the optimizer, memory; that the read alone is the trouble
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(3, 16), block(16, 32), block(32, 64))
        self.head = nn.Linear(64 * 4 * 4, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@torch.no_grad()
def validate(model, images, labels):
    model.eval()
    loss, right = torch.zeros((), device=device), torch.zeros((), device=device)
    for x, y in zip(images.split(64), labels.split(64)):
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum")
        right += (out.argmax(1) == y).sum()
    model.train()
    return (torch.stack([loss, right]) / len(images)).tolist()


def main():
    torch.manual_seed(0)
    train_x, train_y = torch.randn(640, 3, 32, 32, device=device), torch.randint(0, 10, (640,), device=device)
    val_x, val_y = torch.randn(384, 3, 32, 32, device=device), torch.randint(0, 10, (384,), device=device)
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
    curve = []
    for epoch in range(1):
        for x, y in zip(train_x.split(32), train_y.split(32)):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(validate(model, val_x, val_y))
        print(f"epoch {epoch}: val loss {curve[-1][0]:.4f} acc {curve[-1][1]:.3f}")


main()
