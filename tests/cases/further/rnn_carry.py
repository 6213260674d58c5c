"""Report: https://github.com/pytorch/pytorch/issues/2198, "Memory leak problem in LSTM and RNN" (2017): the hidden state
goes from one batch to the next with its graph, so that no part of the graph is ever freed; with retain_graph=True, as
the error message advises, it runs until memory is used up (https://github.com/sgadgil6/cnslab_fmri/issues/4,
2020-11-22). The update is written by hand, as in pytorch/examples word_language_model of that time: no optimizer.

A perfect profiler says
  steps          14; batch 16, sequence length 24
  first finding  memory grows in each step, and each step takes longer than the last: the hidden state (line 53) carries
                 the graph of all steps before, which backward (line 55, retain_graph=True) goes through again;
                 detach the hidden state between batches, and leave retain_graph out
  never          a smaller batch, empty_cache, the allocator's fragmentation, varying shapes
"""
import math
import time

import torch
import torch.nn as nn

torch.manual_seed(1111)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
ntokens, emsize, nhid, nlayers, bptt, batch_size, lr, clip = 500, 64, 64, 2, 24, 16, 5.0, 0.25


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(ntokens, emsize)
        self.rnn = nn.LSTM(emsize, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntokens)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output).view(-1, ntokens), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(nlayers, bsz, nhid), weight.new_zeros(nlayers, bsz, nhid)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[:nbatch * bsz].view(bsz, -1).t().contiguous().to(device)


def train(model, train_data, criterion):
    model.train()
    total_loss = 0.
    start_time = time.time()
    hidden = model.init_hidden(batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        data, targets = train_data[i:i + bptt], train_data[i + 1:i + 1 + bptt].reshape(-1)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward(retain_graph=True)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.detach()
        if (batch + 1) % 10 == 0:
            cur_loss = total_loss.item() / 10
            elapsed = time.time() - start_time
            print(f"| {batch + 1:3d} batches | ms/batch {elapsed * 100:7.2f} | ppl {math.exp(cur_loss):8.2f}")
            total_loss = 0.
            start_time = time.time()


corpus = torch.randint(0, ntokens, (batch_size * (14 * bptt + 1),))
model = RNNModel().to(device)
train(model, batchify(corpus, batch_size), nn.CrossEntropyLoss())

# Measured (simulated device, machine loaded, 30 steps): 11.3 s, growing from 137 to 582 ms a step; hidden state detached 0.48 s; 5.5 MiB kept a step, then none.
