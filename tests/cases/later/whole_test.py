"""Report: https://github.com/pytorch/pytorch/issues/78042, the comment of 2023-01-04: a model trained on an M1 Pro, then
"RuntimeError: Invalid buffer size: 9.75 GB": the whole test set (19962 pictures) goes through the model in one call.

Run with HIGHWATER_SIM_SYSTEM_MEMORY=1GiB, PYTORCH_MPS_HIGH_WATERMARK_RATIO=0 and PYTORCH_MPS_LOW_WATERMARK_RATIO=0, as
users set them who met "out of memory" before. The first convolution's result would be one tensor of 19962 x 64 x 16 x
16 x 4 bytes = 1.22 GiB, more than Metal allows for one buffer.

A perfect profiler says
  steps          32; batch 32, no sequence length; exit code 1
  first finding  the run ended in the evaluation, line ALL, not in a step: a single tensor is larger than Metal's largest
                 buffer, however much memory is free; test in batches, as the training does
  never          a smaller training batch, accumulated gradients, the watermarks (they are off), a leak
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(4),
                                    nn.Flatten(), nn.Linear(64 * 16, 10))

    def forward(self, pictures):
        return self.layers(pictures)


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    model.train()
    for pictures, labels in loader:
        loss = nn.functional.cross_entropy(model(pictures.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, pictures, labels):
    model.eval()
    scores = model(pictures.to(device))  # ALL
    return (scores.argmax(1).cpu() == labels).float().mean().item()


def main():
    pictures, labels = torch.rand(1024, 1, 16, 16), torch.randint(10, (1024,))
    test_pictures, test_labels = torch.rand(19962, 1, 16, 16), torch.randint(10, (19962,))
    model = Cnn().to(device)
    train(model, DataLoader(TensorDataset(pictures, labels), batch_size=32, shuffle=True))
    print(f"accuracy {accuracy(model, test_pictures, test_labels):.3f}")


if __name__ == "__main__":
    main()
