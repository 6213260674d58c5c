"""GPT-2 on tokens of one length, AdamW."""
import torch
from common import Made, arguments, device, endless
from transformers import GPT2Config, GPT2LMHeadModel

args = arguments(batch_size=4)
model = GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=128, n_embd=128, n_layer=3, n_head=4)).to(device())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = Made(lambda index: torch.randint(2000, (64,)))
loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
for step, tokens in zip(range(args.steps), endless(loader)):
    tokens = tokens.to(device())
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
