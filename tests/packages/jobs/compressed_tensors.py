"""Jobs of compressed-tensors."""
from __future__ import annotations

import torch
from compressed_tensors.compressors import pack_to_int32, unpack_from_int32
from compressed_tensors.quantization import (
    QuantizationArgs,
    QuantizationConfig,
    QuantizationScheme,
    apply_quantization_config,
    fake_quantize,
)
from compressed_tensors.quantization.utils import calculate_qparams


def job_quantisation():
    torch.manual_seed(0)
    x, found = torch.randn(4, 8, requires_grad=True), []
    for bits, symmetric in ((8, True), (4, True), (8, False)):
        arguments = QuantizationArgs(num_bits=bits, symmetric=symmetric, strategy="channel")
        scale, zero = calculate_qparams(x.detach().amin(1, keepdim=True), x.detach().amax(1, keepdim=True), arguments)
        found += [scale, zero, fake_quantize(x, scale, zero, arguments)]
    packed = pack_to_int32(torch.randint(-8, 8, (4, 16), dtype=torch.int8), 4)
    return found, packed, unpack_from_int32(packed, 4, torch.Size([4, 16]))


def job_model():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, symmetric=True, strategy="channel"))
    apply_quantization_config(net, QuantizationConfig(config_groups={"all": scheme}))
    for layer in (net[0], net[2]):
        low, high = layer.weight.detach().amin(1, keepdim=True), layer.weight.detach().amax(1, keepdim=True)
        scale, zero = calculate_qparams(low, high, scheme.weights)
        with torch.no_grad():
            layer.weight_scale.copy_(scale)
            if hasattr(layer, "weight_zero_point"):
                layer.weight_zero_point.copy_(zero)
    out = net(torch.randn(3, 16))
    out.sum().backward()
    return out, [p.grad for p in net.parameters() if p.grad is not None], sorted(net.state_dict())
