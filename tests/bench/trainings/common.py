"""What the ten trainings share: their command line, and data made on the spot."""
import argparse

import torch


def arguments(batch_size: int, steps: int = 100_000) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--steps", type=int, default=steps)
    return parser.parse_args()


class Made(torch.utils.data.Dataset):
    """Samples made from their index by `make(index)`."""

    def __init__(self, make, length: int = 4096):
        self.make, self.length = make, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index):
        if index >= self.length:
            raise IndexError(index)
        return self.make(index)


def device() -> torch.device:
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def endless(loader):
    while True:
        yield from loader
