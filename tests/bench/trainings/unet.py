"""The U-Net of a diffusion model that learns to remove noise, with an average of its weights."""
import torch
from common import Made, arguments, device, endless
from diffusers import DDPMScheduler, UNet2DModel

args = arguments(batch_size=4)
model = UNet2DModel(sample_size=32, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
                    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                    up_block_types=("AttnUpBlock2D", "UpBlock2D")).to(device())
average = torch.optim.swa_utils.AveragedModel(model)
noise_schedule = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = torch.utils.data.DataLoader(Made(lambda index: torch.rand(3, 32, 32)), batch_size=args.batch_size, shuffle=True)
for step, pictures in zip(range(args.steps), endless(loader)):
    noise = torch.randn_like(pictures)
    times = torch.randint(100, (len(pictures),))
    noisy = noise_schedule.add_noise(pictures, noise, times)
    guess = model(noisy.to(device()), times.to(device())).sample
    torch.nn.functional.mse_loss(guess, noise.to(device())).backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update_parameters(model)
