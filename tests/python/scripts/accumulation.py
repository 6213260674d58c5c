import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
data = TensorDataset(torch.randn(64, 10), torch.randn(64, 1))
loader = DataLoader(data, batch_size=4, shuffle=True)
model = nn.Sequential(nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
for i, (inputs, targets) in enumerate(loader):
    loss = nn.functional.mse_loss(model(inputs), targets) / 4
    loss.backward()
    if i % 4 == 3:
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        print(i, loss.item().hex(), norm.item().hex(), scheduler.get_last_lr()[0].hex())
