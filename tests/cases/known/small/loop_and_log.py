"""A log reads the loss once a step, and then a loop over the rows of the batch reads each result: two problems at two lines,
of which the loop costs far more though the log waits longer."""
import torch
from torch import nn

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
history, correct = [], 0
for step in range(60):
    data = torch.randn(64, 256).to(device)
    labels = torch.randint(10, (64,)).to(device)
    optimizer.zero_grad()
    scores = model(data)
    loss = nn.functional.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    history.append(loss.item())  # LOG
    for row in range(len(scores)):
        if scores[row].argmax() == labels[row]:  # LOOP
            correct += 1
print(history[-1], correct)
