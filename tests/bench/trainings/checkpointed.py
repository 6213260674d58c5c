"""A decoder in bfloat16 whose blocks compute their activations again in backward."""
import torch
from common import Made, arguments, device, endless
from torch import nn
from torch.utils.checkpoint import checkpoint

args = arguments(batch_size=4)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, 128)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 256, 0.0, batch_first=True) for _ in range(4))
        self.head = nn.Linear(128, 2000)

    def forward(self, tokens):
        state = self.words(tokens)
        for block in self.blocks:
            state = checkpoint(block, state, use_reentrant=False)
        return self.head(state)


model = Decoder().to(device(), torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = Made(lambda index: torch.randint(2000, (65,)))
loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True)
for step, tokens in zip(range(args.steps), endless(loader)):
    tokens = tokens.to(device())
    logits = model(tokens[:, :-1])
    nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
