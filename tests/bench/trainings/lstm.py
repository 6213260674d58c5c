"""A language model by an LSTM, clipped; an evaluation after each 50 steps."""
import torch
from common import Made, arguments, device, endless
from torch import nn

args = arguments(batch_size=8)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, 96)
        self.lstm = nn.LSTM(96, 128, 2, batch_first=True)
        self.head = nn.Linear(128, 2000)

    def forward(self, tokens):
        return self.head(self.lstm(self.words(tokens))[0])


def loss_of(tokens):
    return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


model = Model().to(device())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = Made(lambda index: torch.randint(2000, (33,)))
loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True)
held_out = torch.randint(2000, (16, 33)).to(device())
for step, tokens in zip(range(args.steps), endless(loader)):
    loss = loss_of(tokens.to(device()))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            print("held out", loss_of(held_out).item())
        model.train()
