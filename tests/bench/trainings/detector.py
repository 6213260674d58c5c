"""A detector in the way of DETR: each picture has another number of boxes."""
import torch
from common import Made, arguments, device, endless
from torch import nn

args = arguments(batch_size=4)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 4, 3), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())
        self.queries = nn.Parameter(torch.randn(20, 64))
        self.transformer = nn.Transformer(64, 4, 1, 1, 128, batch_first=True)
        self.boxes, self.classes = nn.Linear(64, 4), nn.Linear(64, 6)

    def forward(self, pictures):
        places = self.stem(pictures).flatten(2).transpose(1, 2)
        found = self.transformer(places, self.queries.expand(len(pictures), -1, -1))
        return self.boxes(found).sigmoid(), self.classes(found)


def sample(index):
    count = 1 + index * 5 % 12
    return torch.rand(3, 96, 96), torch.rand(count, 4), torch.randint(1, 6, (count,))


def collate(rows):
    return torch.stack([row[0] for row in rows]), [row[1:] for row in rows]


model = Detector().to(device())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = torch.utils.data.DataLoader(Made(sample), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
for step, (pictures, targets) in zip(range(args.steps), endless(loader)):
    boxes, classes = model(pictures.to(device()))
    loss = 0
    for each, (wanted, labels) in enumerate(targets):
        wanted, labels = wanted.to(device()), labels.to(device())
        nearest = torch.cdist(wanted, boxes[each]).argmin(-1)
        loss = loss + (boxes[each][nearest] - wanted).abs().mean()
        loss = loss + nn.functional.cross_entropy(classes[each][nearest], labels)
    (loss / len(targets)).backward()
    optimizer.step()
    optimizer.zero_grad()
