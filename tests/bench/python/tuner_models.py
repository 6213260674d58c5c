"""Writes the models of tests/bench/tuner.cpp as TorchScript, each with its JSON file, into a folder.

usage: tuner_models.py FOLDER
"""

import json
import pathlib
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1, stride=2),
            nn.ReLU(),
        )
        self.head = nn.Linear(64, 10)

    def forward(self, images):
        return self.head(self.features(images).mean(dim=[2, 3]))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(2000, 64)
        self.lstm = nn.LSTM(64, 96, batch_first=True)
        self.head = nn.Linear(96, 5)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states[:, -1])


class LargeVocabulary(nn.Module):
    """Predicts each token of a vocabulary of 8,000: the logits dwarf the hidden states."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8000, 48)
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(48, 96)
        self.head = nn.Linear(96, 8000)

    def forward(self, tokens):
        hidden = self.hidden(self.dropout(self.embedding(tokens)))
        return self.head(self.dropout(torch.relu(hidden)))


def save(folder, name, model, inputs, target, **more):
    torch.jit.script(model).save(str(folder / f"{name}.pt"))
    description = {"inputs": [inputs], "target": target, "loss": "cross_entropy", **more}
    (folder / f"{name}.json").write_text(json.dumps(description, indent=2) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    label = {"shape": ["batch"], "dtype": "int64"}
    save(folder, "cnn", Cnn(), {"shape": ["batch", 3, 48, 48], "dtype": "float32"}, {**label, "high": 10})
    tokens = {"shape": ["batch", "length"], "dtype": "int64"}
    save(folder, "lstm", Lstm(), {**tokens, "high": 2000}, {**label, "high": 5}, length=32, max_length=512)
    vocabulary = {**tokens, "high": 8000}
    save(folder, "large_vocabulary", LargeVocabulary(), vocabulary, vocabulary, length=64, max_length=512)


if __name__ == "__main__":
    main()
