"""Jobs of vit_pytorch."""

from __future__ import annotations

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.na_vit_nested_tensor import NaViT


def job_transformers():
    torch.manual_seed(0)
    common = {"image_size": 16, "patch_size": 4, "num_classes": 5, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32}
    picture = torch.randn(2, 3, 16, 16)
    vit = ViT(**common, dropout=0.1, emb_dropout=0.1)
    answers = [vit(picture), SimpleViT(**common)(picture)]
    answers.append(CaiT(**common, cls_depth=1, layer_dropout=0.05)(picture))
    answers.append(CCT(img_size=16, embedding_dim=16, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2.0, num_classes=5)(picture))
    answers[0].square().sum().backward()
    return [*answers, vit.pos_embedding.grad]


def job_pictures_of_many_sizes():
    torch.manual_seed(0)
    net = NaViT(
        image_size=16,
        patch_size=4,
        num_classes=5,
        dim=16,
        depth=2,
        heads=2,
        mlp_dim=32,
        dropout=0.0,
        emb_dropout=0.0,
        token_dropout_prob=0.0,
    )
    return net([torch.randn(3, 16, 16), torch.randn(3, 8, 12), torch.randn(3, 4, 8)])
