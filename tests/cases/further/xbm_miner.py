"""Metric learning with a cross-batch memory: a contrastive loss over the batch and a queue of old embeddings.

After https://github.com/KevinMusgrave/pytorch-metric-learning/issues/11 ("it becomes very slow when the memory
size is large ... unnecessary pairs ... that consist entirely of memory embeddings are being extracted, and then
discarded").

A perfect profiler says
  steps          30; batch 64
  first finding  the pairs that line 47 mines of all 1024 x 1024, and lines 49 to 51 then drop: masks in place of
                 indices take 4.4 ms a step in place of 25.6
  not said       that the device's largest work is the model (line 67) or its optimizer (line 84)
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
device = "mps" if torch.backends.mps.is_available() else "cpu"
CLASSES, FEATURES, DIM, BATCH, MEMORY, STEPS = 60, 256, 64, 64, 960, 30


def get_all_pairs(labels, ref_labels):
    """Indices (anchor, other) of the positive and of the negative pairs."""
    same = labels.unsqueeze(1) == ref_labels.unsqueeze(0)
    anchor_p, positive = torch.where(same)
    anchor_n, negative = torch.where(~same)
    return anchor_p, positive, anchor_n, negative


class CrossBatchMemory(nn.Module):
    def __init__(self, margin=0.5):
        super().__init__()
        self.margin = margin
        self.register_buffer("queue", F.normalize(torch.randn(MEMORY, DIM), dim=1))
        self.register_buffer("queue_labels", torch.randint(CLASSES, (MEMORY,)))
        self.pointer = 0

    def enqueue(self, emb, labels):
        end = self.pointer + len(emb)
        self.queue[self.pointer:end] = emb.detach()
        self.queue_labels[self.pointer:end] = labels
        self.pointer = end % MEMORY

    def forward(self, emb, labels):
        combined = torch.cat([emb, self.queue])
        combined_labels = torch.cat([labels, self.queue_labels])
        a_p, p, a_n, n = get_all_pairs(combined_labels, combined_labels)
        # pairs of two memory entries have no gradient; an embedding is no pair with itself
        keep_p = (a_p < len(emb)) & (a_p != p)
        keep_n = a_n < len(emb)
        a_p, p, a_n, n = a_p[keep_p], p[keep_p], a_n[keep_n], n[keep_n]
        similarity = emb @ combined.t()
        loss_p = (1 - similarity[a_p, p]).mean()
        loss_n = F.relu(similarity[a_n, n] - self.margin).mean()
        self.enqueue(emb, labels)
        return loss_p + loss_n


class Trunk(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.BatchNorm1d(width), nn.ReLU(),
                                 nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
                                 nn.Linear(width, DIM))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def main():
    torch.manual_seed(0)
    centers = torch.randn(CLASSES, FEATURES)
    labels = torch.randint(CLASSES, (4096,))
    features = (centers[labels] + 0.8 * torch.randn(4096, FEATURES)).to(device)
    labels = labels.to(device)
    trunk, criterion = Trunk().to(device), CrossBatchMemory().to(device)
    optimizer = torch.optim.Adam(trunk.parameters(), lr=1e-3)
    total = torch.zeros((), device=device)
    for step in range(1, STEPS + 1):
        pick = torch.randint(len(features), (BATCH,), device=device)
        optimizer.zero_grad()
        loss = criterion(trunk(features[pick]), labels[pick])
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if step % 20 == 0:
            print(f"step {step}: loss {total.item() / 20:.4f}", flush=True)
            total.zero_()


if __name__ == "__main__":
    main()
