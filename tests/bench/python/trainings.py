"""The trainings of `tests/bench/run python`: trainings.py NAME. None of them mentions Highwater.

Each runs blocks of steps that bench.py asks for through a socket, and answers with what each block cost.
"""
import contextlib
import json
import os
import socket
import sys
import time

import torch
from torch import nn

# The library of the simulated device; "" under `highwater run --device sim`, which loads it.
SIMULATED = os.environ.get("BENCH_SIMULATED_DEVICE", "")


class Blocks:
    """Reports the cost of blocks of steps to bench.py. A step may be followed by the next block's begin."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.environ["BENCH_SOCKET"])
        self._lines = self._socket.makefile("r")
        self._profiler = os.environ.get("BENCH_PROFILER", "")
        self._profile = None
        self._left = 0
        self._send({"ready": sys.argv[1]})

    def wait(self) -> None:
        """Waits until a block may begin; ends the process where there is none left."""
        line = self._lines.readline()
        if not line:
            raise SystemExit(0)
        self._left = json.loads(line)["steps"]
        if self._profiler:
            self._profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            self._profile.start()
        self._begin = time.perf_counter(), time.process_time()

    def step_ended(self) -> None:
        """Ends the block with its last step; then waits for the next one."""
        self._left -= 1
        if self._left:
            return
        torch.mps.synchronize()
        cost = {"wall": time.perf_counter() - self._begin[0], "cpu": time.process_time() - self._begin[1]}
        if self._profile is not None:
            self._profile.stop()
            self._profile = None
        self._send(cost)
        self.wait()

    def _send(self, answer) -> None:
        self._socket.sendall((json.dumps(answer) + "\n").encode())


class Classifier(nn.Module):
    """A transformer that classifies texts of 64 tokens."""

    def __init__(self, width=64, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(500, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 3)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(dim=1))


def plain_loop(blocks):
    """The loop of every tutorial: a loader, a model of moderate size, a read of the loss now and then."""
    device = torch.device("mps")
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    data = torch.utils.data.TensorDataset(torch.randint(500, (512, 64)), torch.randint(3, (512,)))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    step = 0
    blocks.wait()
    while True:
        for tokens, labels in loader:
            tokens, labels = tokens.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                loss.item()
            blocks.step_ended()


def host_bound_loop(blocks):
    """Tensors so small that the host cannot keep the device busy, and a wait for the loss in each step."""
    device = torch.device("mps")
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    inputs, labels = torch.randn(8, 16, device=device), torch.randint(2, (8,)).to(device)
    blocks.wait()
    while True:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        blocks.step_ended()


def accumulating_loop(blocks):
    """Eight small batches a step: what is done at each call of the model counts eight times."""
    device = torch.device("mps")
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    inputs, labels = torch.randn(16, 64, device=device), torch.randint(2, (16,)).to(device)
    blocks.wait()
    while True:
        for _ in range(8):
            loss = nn.functional.cross_entropy(model(inputs), labels) / 8
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        blocks.step_ended()


def hugging_face(blocks):
    """A small BERT under transformers' Trainer, which logs at every tenth step."""
    import tempfile

    from transformers import (BertConfig, BertForSequenceClassification, PrinterCallback, Trainer,
                              TrainerCallback, TrainingArguments)

    class Report(TrainerCallback):
        def on_train_begin(self, *_, **__):
            blocks.wait()

        def on_step_end(self, *_, **__):
            blocks.step_ended()

    config = BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=128, max_position_embeddings=64)
    data = [{"input_ids": torch.randint(500, (64,)), "labels": torch.tensor(i % 2)} for i in range(512)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=16, num_train_epochs=100_000,
                                      logging_steps=10, save_strategy="no", report_to=[], disable_tqdm=True,
                                      dataloader_pin_memory=False)
        trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=data,
                          callbacks=[Report()])
        trainer.remove_callback(PrinterCallback)
        if trainer.args.device.type != "mps":
            raise SystemExit(f"Trainer chose the device {trainer.args.device}, not mps")
        trainer.train()


TRAININGS = {"plain_loop": plain_loop, "host_bound_loop": host_bound_loop,
             "accumulating_loop": accumulating_loop, "hugging_face": hugging_face}


def main() -> None:
    if SIMULATED:
        torch.ops.load_library(SIMULATED)
        torch._C._has_mps = True
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with contextlib.suppress(BrokenPipeError):
        TRAININGS[sys.argv[1]](Blocks())


if __name__ == "__main__":
    main()
