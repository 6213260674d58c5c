import torch
from torch import nn

torch.manual_seed(5)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 1))
of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
of_critic = torch.optim.Adam(critic.parameters(), 1e-3)
loss_of = nn.BCEWithLogitsLoss()
real, fake = torch.ones(16, 1), torch.zeros(16, 1)
for step in range(6):
    made = generator(torch.randn(16, 4))
    loss_critic = loss_of(critic(torch.randn(16, 2)), real) + loss_of(critic(made.detach()), fake)
    of_critic.zero_grad()
    loss_critic.backward()
    of_critic.step()
    loss_generator = loss_of(critic(made), real)
    of_generator.zero_grad()
    loss_generator.backward()
    of_generator.step()
    print(step, loss_critic.item().hex(), loss_generator.item().hex())
