"""Distillation that forgets torch.no_grad(): backward also computes the gradients of the teacher."""
import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
student = nn.Linear(8, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(16, 8)
    target = teacher(x)  # TEACHER
    loss = (student(x) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 4))
