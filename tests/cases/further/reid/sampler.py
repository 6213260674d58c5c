"""https://github.com/CoinCheung/triplet-reid-pytorch/issues/2 (2019-05-14)"""
import random

from torch.utils.data import Sampler


class BatchSampler(Sampler):
    """Batches of n_class persons with n_num pictures each."""

    def __init__(self, dataset, n_class, n_num, batches):
        self.labels = dataset.labels
        self.persons = sorted(set(self.labels))
        self.n_class = n_class
        self.n_num = n_num
        self.batches = batches

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            batch = []
            for person in random.sample(self.persons, self.n_class):
                pictures = [i for i, label in enumerate(self.labels) if label == person]
                if len(pictures) >= self.n_num:
                    batch += random.sample(pictures, self.n_num)
                else:
                    batch += random.choices(pictures, k=self.n_num)
            yield batch
