"""Jobs of open_clip."""
from __future__ import annotations

import open_clip
import torch


def _model():
    torch.manual_seed(0)
    return open_clip.CLIP(
        embed_dim=16, vision_cfg={"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
        text_cfg={"context_length": 8, "vocab_size": 64, "width": 32, "heads": 4, "layers": 2},
    )  # fmt: skip


def job_contrastive():
    model, loss_of = _model(), open_clip.ClipLoss()
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-3), []
    images, texts = torch.randn(4, 3, 32, 32), torch.randint(1, 64, (4, 8))
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(*model(images, texts))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save(model.state_dict(), "clip.pt")
    back = _model()
    back.load_state_dict(torch.load("clip.pt"))
    with torch.no_grad():
        return losses, back.eval().encode_image(images, normalize=True), model.eval().encode_text(texts)
