"""A training that reads its loss in each step, which the device has not computed yet. tst_script_window tries it without."""
import time

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8)).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows, total = torch.ones(128, 256).to("mps"), 0.0
while True:
    loss = model(rows).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total += loss.item()
    time.sleep(0.005)
