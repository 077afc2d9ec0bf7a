"""Jobs of dynamic_network_architectures."""

from __future__ import annotations

import torch
from dynamic_network_architectures.architectures.unet import PlainConvUNet, ResidualEncoderUNet


def job_segmentation():
    torch.manual_seed(0)
    common = {
        "input_channels": 1,
        "n_stages": 3,
        "features_per_stage": (4, 8, 8),
        "kernel_sizes": 3,
        "strides": (1, 2, 2),
        "num_classes": 3,
        "n_conv_per_stage_decoder": 1,
        "conv_bias": True,
        "norm_op_kwargs": {"eps": 1e-5, "affine": True},
        "nonlin": torch.nn.LeakyReLU,
        "nonlin_kwargs": {"inplace": True},
        "deep_supervision": True,
    }
    flat = PlainConvUNet(conv_op=torch.nn.Conv2d, norm_op=torch.nn.InstanceNorm2d, n_conv_per_stage=1, **common)
    solid = ResidualEncoderUNet(conv_op=torch.nn.Conv3d, norm_op=torch.nn.InstanceNorm3d, n_blocks_per_stage=1, **common)
    answers = []
    for net, shape in ((flat, (2, 1, 16, 16)), (solid, (1, 1, 8, 8, 8))):
        outputs = net(torch.randn(shape))
        loss = sum(x.square().mean() for x in outputs)
        loss.backward()
        answers += [*outputs, loss, next(net.parameters()).grad, net.compute_conv_feature_map_size(shape[2:])]
    return answers
