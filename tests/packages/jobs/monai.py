"""Jobs of monai."""
from __future__ import annotations

import torch
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, NormalizeIntensity, RandFlip, RandRotate90, ScaleIntensity, Zoom


def job_segmentation():
    net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
    x, y = torch.randn(2, 1, 16, 16), torch.randint(0, 2, (2, 1, 16, 16))
    loss = DiceCELoss(to_onehot_y=True, softmax=True)(net(x), y)
    loss.backward()
    metric = DiceMetric()
    metric(torch.nn.functional.one_hot(net(x).argmax(1), 2).movedim(-1, 1).float(), torch.nn.functional.one_hot(y[:, 0], 2).movedim(-1, 1).float())
    return loss, sum(float(p.grad.abs().sum()) for p in net.parameters()), metric.aggregate()


def job_transforms():
    chain = Compose([ScaleIntensity(), RandFlip(1.0, 1), RandRotate90(1.0), NormalizeIntensity(), Zoom(1.5)])
    chain.set_random_state(3)
    return torch.as_tensor(chain(torch.rand(1, 12, 12)))
