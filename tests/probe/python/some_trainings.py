"""Small trainings on the device, with the waits that users write."""
import torch
from torch import nn
from torch.nn import functional


class Marked(nn.Module):
    """Marks each child as a module of the probe's."""

    def __init__(self, probe, **children):
        super().__init__()
        self.probe = probe
        self.parts = nn.ModuleDict(children)

    def part(self, name, *inputs):
        with self.probe.module(name):
            return self.parts[name](*inputs)


class ConvNet(Marked):
    def __init__(self, probe):
        super().__init__(probe, first=nn.Conv2d(3, 8, 3, padding=1), norm=nn.BatchNorm2d(8),
                         second=nn.Conv2d(8, 8, 3, padding=1), head=nn.Linear(8 * 16, 5))

    def forward(self, images):
        hidden = functional.relu(self.part("norm", self.part("first", images)))
        hidden = functional.max_pool2d(hidden, 2)
        hidden = functional.adaptive_avg_pool2d(functional.relu(self.part("second", hidden)), 4)
        return self.part("head", functional.dropout(hidden.flatten(1), 0.1, self.training))

    @staticmethod
    def batch():
        return torch.randn(4, 3, 16, 16), torch.randint(5, (4,))


class Recurrent(Marked):
    def __init__(self, probe):
        super().__init__(probe, words=nn.Embedding(50, 12), lstm=nn.LSTM(12, 16, 2, batch_first=True),
                         head=nn.Linear(16, 5))

    def forward(self, words):
        hidden, _ = self.part("lstm", self.part("words", words))
        return self.part("head", hidden[:, -1])

    @staticmethod
    def batch():
        return torch.randint(50, (4, 7)), torch.randint(5, (4,))


class Attention(Marked):
    def __init__(self, probe):
        super().__init__(probe, words=nn.Embedding(50, 16),
                         block=nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True),
                         head=nn.Linear(16, 5))

    def forward(self, words):
        return self.part("head", self.part("block", self.part("words", words)).mean(1))

    batch = Recurrent.batch


def step(probe, model, optimizer, images, labels):
    """A step with a fallback, reads of values and a mask."""
    probe.phase("device_move")
    images, labels = images.to("mps"), labels.to("mps")
    probe.phase("forward")
    with probe.module("model"):
        logits = model(images)
        loss = functional.cross_entropy(logits, labels)
        with probe.module("margin"):  # falls back, and so does its backward
            loss = loss + functional.multi_margin_loss(logits, labels)
    probe.phase("loss_read")
    if not torch.isfinite(loss):
        raise ValueError("the loss is not finite")
    probe.phase("backward")
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    probe.phase("optimizer_step")
    optimizer.step()
    probe.phase("loss_read")
    wrong = logits.argmax(1) != labels
    return loss.item(), logits[wrong].detach().cpu().tolist()


def training_of(kind):
    def work_of():
        def work(probe):
            torch.manual_seed(7)
            model = kind(probe).to("mps")
            optimizer = torch.optim.AdamW(model.parameters())
            for _ in range(10):
                step(probe, model, optimizer, *kind.batch())

        return work

    return work_of


ALL = {f"training of {kind.__name__}": training_of(kind) for kind in (Attention, ConvNet, Recurrent)}
