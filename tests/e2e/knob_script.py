"""A training that offers knobs and prints the values that it uses. tst_script_window turns them."""
import torch

import highwater_mps as highwater

model = torch.nn.Linear(16, 4).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.utils.data.TensorDataset(torch.ones(4096, 16))
step = 0
while True:
    for inputs, in torch.utils.data.DataLoader(data, batch_size=8):
        scale = highwater.knob("scale", 1.5, min=0.5, max=8.0)
        loss = highwater.knob("loss", "mean", choices=["mean", "sum"])
        losses = model(inputs.to("mps")).square() * scale
        (losses.mean() if loss == "mean" else losses.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        print(f"step {step} scale {scale} loss {loss} batch {len(inputs)}", flush=True)
        print(f"\r{step} %", end="", flush=True)
        print()
