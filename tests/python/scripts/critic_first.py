"""A critic that is trained with what the generator makes, which is not detached: its backward goes through both."""
import torch
from torch import nn

torch.manual_seed(5)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 1))
of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
of_critic = torch.optim.Adam(critic.parameters(), 1e-3)
for step in range(12):
    for _ in range(2):
        of_critic.zero_grad(set_to_none=False)
        made = generator(torch.randn(16, 4))  # GENERATOR
        (critic(made) - critic(torch.randn(16, 2))).mean().backward()
        of_critic.step()
    of_generator.zero_grad(set_to_none=False)
    loss = -critic(generator(torch.randn(16, 4))).mean()
    loss.backward()
    of_generator.step()
    print(step, loss.item().hex())
