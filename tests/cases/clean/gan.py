"""Two optimizers, each with a backward of its own: the generator's output is detached for the discriminator."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as against

torch.manual_seed(0)
device = "mps" if torch.backends.mps.is_available() else "cpu"
generator = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
judge = nn.Sequential(nn.Linear(256, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 1)).to(device)
for_generator = torch.optim.SGD(generator.parameters(), 0.01)
for_judge = torch.optim.SGD(judge.parameters(), 0.01)
images = torch.rand(1024, 256, device=device)
real, fake = torch.ones(256, 1, device=device), torch.zeros(256, 1, device=device)
for step in range(40):
    drawn = generator(torch.rand(256, 64, device=device))
    rows = slice(step % 4 * 256, step % 4 * 256 + 256)
    judged = against(judge(images[rows]), real) + against(judge(drawn.detach()), fake)
    for_judge.zero_grad()
    judged.backward()
    for_judge.step()
    fooled = against(judge(drawn), real)
    for_generator.zero_grad()
    fooled.backward()
    for_generator.step()
print(f"losses {judged.item():.3f} and {fooled.item():.3f}")
