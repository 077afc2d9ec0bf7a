"""Jobs of rtdl_revisiting_models."""

from __future__ import annotations

import torch
from rtdl_revisiting_models import MLP, FTTransformer, ResNet


def job_tables():
    torch.manual_seed(0)
    x, kinds, y = torch.randn(16, 4), torch.randint(0, 3, (16, 2)), torch.randn(16, 1)
    nets = [
        lambda net: net(x, kinds),
        lambda net: net(x),
        lambda net: net(x),
    ]
    modules = [
        FTTransformer(
            n_cont_features=4,
            cat_cardinalities=[3, 3],
            d_out=1,
            n_blocks=2,
            d_block=16,
            attention_n_heads=4,
            attention_dropout=0.1,
            ffn_d_hidden=None,
            ffn_d_hidden_multiplier=4 / 3,
            ffn_dropout=0.1,
            residual_dropout=0.0,
        ),
        ResNet(d_in=4, d_out=1, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0),
        MLP(d_in=4, d_out=1, n_blocks=2, d_block=8, dropout=0.1),
    ]
    answers = []
    for net, call in zip(modules, nets):
        groups = net.make_parameter_groups() if hasattr(net, "make_parameter_groups") else net.parameters()
        optimizer = torch.optim.AdamW(groups, 1e-2)
        for _ in range(3):
            loss = (call(net) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        answers.append(loss)
    return answers
