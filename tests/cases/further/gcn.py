"""Report: https://github.com/ChandlerBang/Pro-GNN/issues/24 (dense adjacency matrices).

A graph network multiplies by its adjacency as a dense matrix of 2600 x 2600, of which 0.4 % is not zero.

A perfect profiler says
  steps          40; the mean time of a step beside its median, as the host queues steps ahead
  verdict        the device is the bottleneck; the product at PRODUCT is most of its work
  not said       host-bound; a finding about the read every 20 steps
"""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
NODES, DEGREE, FEATS, CLASSES = 2600, 5, 64, 7


def make_graph():
    g = torch.Generator().manual_seed(0)
    label = torch.randint(0, CLASSES, (NODES,), generator=g)
    src = torch.arange(NODES).repeat_interleave(DEGREE)
    dst = torch.randint(0, NODES, (NODES * DEGREE,), generator=g)
    x = torch.randn(NODES, FEATS, generator=g) + F.one_hot(label, FEATS).float()
    train = torch.rand(NODES, generator=g) < 0.3
    return x, src, dst, label, train


def normalized_adjacency(src, dst):
    adj = torch.zeros(NODES, NODES)
    adj[src, dst] = 1.0
    adj[dst, src] = 1.0
    adj += torch.eye(NODES)
    deg = adj.sum(1).rsqrt()
    return deg[:, None] * adj * deg[None, :]


class GraphConvolution(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inp, out))
        self.bias = nn.Parameter(torch.zeros(out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        support = torch.mm(x, self.weight)
        output = torch.mm(adj, support)  # PRODUCT
        return output + self.bias


class GCN(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.gc1 = GraphConvolution(FEATS, hidden)
        self.gc2 = GraphConvolution(hidden, hidden)
        self.gc3 = GraphConvolution(hidden, CLASSES)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, self.training)
        x = F.dropout(F.relu(self.gc2(x, adj)), 0.5, self.training)
        return F.log_softmax(self.gc3(x, adj), dim=1)


def main():
    torch.manual_seed(0)
    x, src, dst, label, train = make_graph()
    adj = normalized_adjacency(src, dst).to(device)
    index = train.nonzero().squeeze(1).to(device)
    x, label = x.to(device), label.to(device)
    target = label[index]
    model = GCN().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    start = time.time()
    for epoch in range(1, 41):
        model.train()
        opt.zero_grad()
        output = model(x, adj)
        loss = F.nll_loss(output.index_select(0, index), target)
        loss.backward()
        opt.step()
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, {(time.time() - start) / epoch * 1e3:.0f} ms an epoch")


if __name__ == "__main__":
    main()
