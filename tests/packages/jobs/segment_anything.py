"""Jobs of segment-anything, with a tiny random model."""
from __future__ import annotations

from functools import partial

import numpy as np
import torch
from segment_anything import SamPredictor
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer


def _model():
    torch.manual_seed(0)
    return Sam(
        image_encoder=ImageEncoderViT(depth=2, embed_dim=32, img_size=64, mlp_ratio=2, norm_layer=partial(torch.nn.LayerNorm, eps=1e-6), num_heads=2, patch_size=8,
                                      qkv_bias=True, use_rel_pos=True, global_attn_indexes=[1], window_size=4, out_chans=16),
        prompt_encoder=PromptEncoder(embed_dim=16, image_embedding_size=(8, 8), input_image_size=(64, 64), mask_in_chans=4),
        mask_decoder=MaskDecoder(num_multimask_outputs=3, transformer=TwoWayTransformer(depth=2, embedding_dim=16, mlp_dim=32, num_heads=2), transformer_dim=16,
                                 iou_head_depth=2, iou_head_hidden_dim=16),
    )  # fmt: skip


def job_masks():
    model = _model()
    for p in model.parameters():
        if not p.any():
            torch.nn.init.normal_(p, 0, 0.02)
    found = model([{"image": torch.rand(3, 48, 64) * 255, "original_size": (48, 64), "point_coords": torch.tensor([[[20.0, 30.0]]]),
                    "point_labels": torch.tensor([[1]])}], multimask_output=True)[0]  # fmt: skip
    model.eval()
    predictor = SamPredictor(model)
    predictor.set_torch_image(torch.rand(1, 3, 64, 64) * 255, (64, 64))
    masks, scores, logits = predictor.predict(point_coords=np.array([[10, 20]]), point_labels=np.array([1]), box=np.array([5, 5, 40, 40]))
    embedded = model.image_encoder(torch.rand(1, 3, 64, 64))
    embedded.square().mean().backward()
    torch.save(model.state_dict(), "sam.pt")
    model.load_state_dict(torch.load("sam.pt"))
    grads = [p.grad.abs().sum() for p in model.image_encoder.parameters()]
    return found["low_res_logits"], found["iou_predictions"], float(masks.mean()), scores.tolist(), logits.tolist()[0][0][:4], embedded, grads
