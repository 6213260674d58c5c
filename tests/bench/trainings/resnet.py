"""A ResNet on pictures, SGD with momentum; the accuracy of each tenth batch is read."""
import torch
from common import Made, arguments, device, endless
from transformers import ResNetConfig, ResNetForImageClassification

args = arguments(batch_size=8)
config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 1, 1], layer_type="basic", num_labels=10)
model = ResNetForImageClassification(config).to(device())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
data = Made(lambda index: (torch.rand(3, 48, 48), index % 10))
loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=1)
for step, (pictures, labels) in zip(range(args.steps), endless(loader)):
    pictures, labels = pictures.to(device()), labels.to(device())
    optimizer.zero_grad()
    logits = model(pictures).logits
    torch.nn.functional.cross_entropy(logits, labels).backward()
    optimizer.step()
    if step % 10 == 0:
        print("accuracy", (logits.argmax(-1) == labels).float().mean().item())
