"""Report: https://github.com/JunMa11/SegLossOdyssey/issues/42 "the time training for one epoch with boundary-loss is too long"
(2022: "the distance transform map was computed online"); https://github.com/LIVIAETS/boundary-loss/issues/59 says the answer:
compute it in the data loader. FIRST: the host computes the distance maps of the labels (compute_sdf, line 28, called at line
66) in numpy while the device stands idle; to do: once, ahead (or in the loader's workers). The read of the labels from the
device (.cpu(), line 66) may be named with it, but it is not the cost.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def edt_1d(f):
    """squared distances along the last axis"""
    n = f.shape[-1]
    d = (np.arange(n)[:, None] - np.arange(n)[None, :]) ** 2
    return (f[..., None, :] + d).min(-1)


def distance_transform_edt(mask):
    f = np.where(mask, 1e6, 0.0)
    f = edt_1d(f)
    return np.sqrt(edt_1d(f.T).T)


def compute_sdf(gt):
    out = np.zeros(gt.shape, np.float32)
    for b in range(gt.shape[0]):
        pos = gt[b].astype(bool)
        if pos.any():
            out[b] = distance_transform_edt(~pos) - distance_transform_edt(pos)
    return out


class UNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, c, 3, 1, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.d2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, 2, 1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.u1 = nn.ConvTranspose2d(2 * c, c, 2, 2)
        self.out = nn.Conv2d(2 * c, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        return self.out(torch.cat([a, self.u1(self.d2(a))], 1))


def boundary_loss(probs, sdf):
    return (probs[:, 1] * sdf).mean()


torch.manual_seed(0)
yy, xx = torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij")
centres = torch.randint(16, 48, (32, 2))
masks = torch.stack([((yy - a) ** 2 + (xx - b) ** 2 < 100) for a, b in centres.tolist()]).long()
images = masks[:, None].float() + 0.5 * torch.randn(32, 1, 64, 64)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, masks), batch_size=4, shuffle=True)
net = UNet().to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for epoch in range(10):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        probs = F.softmax(net(x), 1)
        gt_sdf = torch.from_numpy(compute_sdf(y.cpu().numpy())).to(device)
        loss = F.nll_loss(probs.clamp_min(1e-7).log(), y) + 0.01 * boundary_loss(probs, gt_sdf)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
