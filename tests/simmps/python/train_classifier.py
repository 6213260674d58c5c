"""A text classifier trained on torch.device("mps"), as on a Mac: an example that test_training.py runs.

    HIGHWATER_SIMMPS=build/release/lib/libhighwater_simmps.so python train_classifier.py
"""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, words=200, length=24, width=32, heads=4, classes=3):
        super().__init__()
        self.token = nn.Embedding(words, width)
        self.position = nn.Embedding(length, width)
        self.block = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.1, activation="gelu", batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.block(self.token(tokens) + self.position(places)).mean(1))


def train(device, steps=20, batch=8, length=24, optimizer=torch.optim.AdamW, **options):
    """The losses of a run with a fixed seed, as exact floats."""
    torch.manual_seed(7)
    model = Classifier(length=length).to(device)
    texts = torch.randint(200, (steps, batch, length))
    labels = torch.randint(3, (steps, batch))
    options = {"lr": 1e-2} | options
    optimizer = optimizer(model.parameters(), **options)
    torch.manual_seed(99)
    losses = []
    for text, label in zip(texts, labels):
        loss = nn.functional.cross_entropy(model(text.to(device)), label.to(device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    from simulated_mps import mps

    for step, loss in enumerate(train(mps)):
        print(f"step {step:2}  loss {loss:.4f}  "
              f"{torch.mps.driver_allocated_memory() / 2**20:.0f} MiB of driver memory, simulated")
