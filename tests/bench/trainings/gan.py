"""A GAN: two models and two optimizers in each step."""
import torch
from common import Made, arguments, device, endless
from torch import nn

args = arguments(batch_size=8)
generator = nn.Sequential(nn.Linear(32, 64 * 8 * 8), nn.Unflatten(1, (64, 8, 8)), nn.ReLU(),
                          nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
critic = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
                       nn.Flatten(), nn.Linear(64 * 8 * 8, 1))
generator, critic = generator.to(device()), critic.to(device())
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4)
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4)
loss_of = nn.BCEWithLogitsLoss()
loader = torch.utils.data.DataLoader(Made(lambda index: torch.rand(3, 32, 32)), batch_size=args.batch_size, shuffle=True,
                                     drop_last=True)
for step, pictures in zip(range(args.steps), endless(loader)):
    pictures = pictures.to(device())
    made = generator(torch.randn(len(pictures), 32, device=device()))
    ones, zeros = torch.ones(len(pictures), 1, device=device()), torch.zeros(len(pictures), 1, device=device())
    of_critic.zero_grad()
    (loss_of(critic(pictures), ones) + loss_of(critic(made.detach()), zeros)).backward()
    of_critic.step()
    of_generator.zero_grad()
    loss_of(critic(made), ones).backward()
    of_generator.step()
