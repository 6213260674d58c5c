"""A vision transformer, AdamW, whose batch size is a knob of its own: data is made on the device."""
import highwater_mps as highwater
import torch
from common import arguments, device
from transformers import ViTConfig, ViTForImageClassification

args = arguments(batch_size=8)
config = ViTConfig(hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=192, image_size=48,
                   patch_size=8, num_labels=10)
model = ViTForImageClassification(config).to(device())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(args.steps):
    size = highwater.knob("batch_size", args.batch_size, min=1, max=512)
    pictures, labels = torch.rand(size, 3, 48, 48, device=device()), torch.randint(10, (size,), device=device())
    model(pictures, labels=labels).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
