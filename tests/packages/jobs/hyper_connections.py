"""Jobs of hyper_connections."""

from __future__ import annotations

import torch
from hyper_connections import HyperConnections, get_init_and_expand_reduce_stream_functions


def job_streams():
    torch.manual_seed(0)
    init, expand, reduce = get_init_and_expand_reduce_stream_functions(4)
    layer = init(dim=8, branch=torch.nn.Linear(8, 8))
    inputs = torch.randn(2, 5, 8, requires_grad=True)
    found = reduce(layer(expand(inputs)))
    found.square().mean().backward()
    return [found, inputs.grad, layer.branch.weight.grad, isinstance(layer, HyperConnections)]
