"""Report: https://github.com/roboflow/rf-detr/pull/1409 "group optimizer parameters by their hyperparameters" (2026-08-30: one
parameter group per tensor, so the foreach AdamW launches per tensor: step() 58.8 ms, after it a fraction).
FIRST: the host is the bottleneck: optimizer.step() (line 64) takes most of the step on the host, because its parameters are
in one group each (line 47): 153 groups of one tensor; to do: put those with equal settings in one group, fused/foreach.
"""
import torch
import torch.nn as nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.fc1, self.fc2 = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.fc2(torch.relu(self.fc1(self.n2(x))))


class Detr(nn.Module):
    def __init__(self, d=48, layers=12, queries=20):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, 16)
        self.blocks = nn.ModuleList(Block(d, 4) for _ in range(layers))
        self.query = nn.Parameter(torch.randn(queries, d))
        self.box = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))
        self.cls = nn.Linear(d, 20)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.query.expand(x.shape[0], -1, -1), x], 1)
        for b in self.blocks:
            x = b(x)
        q = x[:, :self.query.shape[0]]
        return self.cls(q), self.box(q).sigmoid()


def get_param_dict(model, lr, wd):
    groups = []
    for name, p in model.named_parameters():
        if p.requires_grad:
            groups.append({"params": [p], "lr": lr * (0.1 if "patch" in name else 1.0),
                           "weight_decay": 0.0 if "bias" in name or "n1" in name or "n2" in name else wd})
    return groups


torch.manual_seed(0)
model = Detr().to(device)
optimizer = torch.optim.AdamW(get_param_dict(model, 1e-4, 1e-4))
images = torch.randn(32, 3, 64, 64, device=device)
labels = torch.randint(0, 20, (32, 20), device=device)
boxes = torch.rand(32, 20, 4, device=device)
for it in range(60):
    i = (it * 2) % 32
    logits, pred = model(images[i:i + 2])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels[i:i + 2].flatten()) + (pred - boxes[i:i + 2]).abs().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 40 == 0:
        print(it, round(loss.item(), 4))
