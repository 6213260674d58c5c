"""Report: https://github.com/yunjey/pytorch-tutorial/issues/90, "language model detach(states)" (2017-12-24): why are the
states detached after each batch, what on earth does this step do? Here it is as it should be: the states go from batch
to batch without their graph, gradients are clipped by their norm, the perplexity is read once an epoch. Nothing to do.

A perfect profiler says
  steps          2 epochs x 20 = 40; batch 20, sequence length 30
  no finding     the device is busy all the time, memory is flat, one read an epoch
  never          the states keep a graph, memory grows, clipping, queueing, reads, a larger batch
"""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")

# Hyper-parameters
embed_size = 192
hidden_size = 192
num_layers = 1
num_epochs = 2
batch_size = 20
seq_length = 30
learning_rate = 0.002
vocab_size = 4000

torch.manual_seed(0)
ids = torch.randint(0, vocab_size, (batch_size, 20 * seq_length + 1)).to(device)
num_batches = ids.size(1) // seq_length


class RNNLM(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size, num_layers):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, num_layers, batch_first=True)
        self.linear = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, h):
        out, (h, c) = self.lstm(self.embed(x), h)
        out = out.reshape(out.size(0) * out.size(1), out.size(2))
        return self.linear(out), (h, c)


model = RNNLM(vocab_size, embed_size, hidden_size, num_layers).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)


def detach(states):
    return [state.detach() for state in states]


for epoch in range(num_epochs):
    states = (torch.zeros(num_layers, batch_size, hidden_size, device=device),
              torch.zeros(num_layers, batch_size, hidden_size, device=device))
    epoch_loss = torch.zeros((), device=device)
    for i in range(0, num_batches * seq_length, seq_length):
        inputs = ids[:, i:i + seq_length]
        targets = ids[:, i + 1:i + 1 + seq_length]
        states = detach(states)
        outputs, states = model(inputs, states)
        loss = criterion(outputs, targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        epoch_loss += loss.detach()
    print("Epoch [{}/{}], Perplexity: {:5.2f}".format(epoch + 1, num_epochs, np.exp(epoch_loss.item() / num_batches)))
