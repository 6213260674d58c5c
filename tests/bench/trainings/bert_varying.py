"""BERT as a classifier of texts of different lengths, each batch padded to its longest; a schedule and clipping."""
import torch
from common import Made, arguments, device, endless
from transformers import BertConfig, BertForSequenceClassification

args = arguments(batch_size=8)
config = BertConfig(vocab_size=2000, hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256)
model = BertForSequenceClassification(config).to(device())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step / 100))
data = Made(lambda index: (torch.randint(2000, (16 + index * 7 % 48,)), index % 2))


def collate(rows):
    tokens = torch.nn.utils.rnn.pad_sequence([each for each, _ in rows], batch_first=True)
    return tokens, torch.tensor([label for _, label in rows])


loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
for step, (tokens, labels) in zip(range(args.steps), endless(loader)):
    tokens, labels = tokens.to(device()), labels.to(device())
    loss = model(input_ids=tokens, attention_mask=(tokens != 0).long(), labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
