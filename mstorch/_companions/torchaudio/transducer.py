"""torchaudio::rnnt_loss_forward: the loss of sequence transduction (Graves 2012) and its gradient.

A path goes from (0, 0) through a lattice of frames and labels: a blank goes to the next frame, a label to the next place of the target.
All points with the same frame + place are computed at once: rows of a diagonal lie in one row of a skewed lattice.
"""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def _check(logits: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int) -> None:
    def require(holds: bool, text: str) -> None:
        if not holds:
            raise RuntimeError(text)

    require(logits.dtype in (torch.float32, torch.float16), "logits must be float32 or float16 (half) type")
    for name, item in (("targets", targets), ("logit_lengths", frames), ("target_lengths", labels)):
        require(item.dtype is torch.int32, f"{name} must be int32 type")
    for name, item in (("logits", logits), ("targets", targets), ("logit_lengths", frames), ("target_lengths", labels)):
        require(item.is_contiguous(), f"{name} must be contiguous")
    require(logits.dim() == 4, "logits must be 4-D (batch, time, target, class)")
    require(targets.dim() == 2, "targets must be 2-D (batch, max target length)")
    require(frames.dim() == 1, "logit_lengths must be 1-D")
    require(labels.dim() == 1, "target_lengths must be 1-D")
    for name, item in (("logit_lengths", frames), ("target_lengths", labels), ("targets", targets)):
        require(item.shape[0] == logits.shape[0], f"batch dimension mismatch between logits and {name}")
    require(0 <= blank < logits.shape[-1], "blank must be within [0, logits.shape[-1])")
    require(int(frames.max()) == logits.shape[1], "input length mismatch")
    require(int(labels.max()) + 1 == logits.shape[2], "output length mismatch")
    require(int(labels.max()) == targets.shape[1], "target length mismatch")


def _skewed(values: Tensor) -> Tensor:
    """Return (diagonals, batch, places) of a lattice (batch, frames, places); outside of it are its first and last frames' values."""
    frames, places = values.shape[1:]
    diagonal = torch.arange(frames + places - 1, device=values.device)[:, None]
    frame = (diagonal - torch.arange(places, device=values.device)).clamp(0, frames - 1)
    return values.gather(1, frame.expand(values.shape[0], -1, -1)).transpose(0, 1)


def _straight(values: Tensor, frames: int) -> Tensor:
    """Return the lattice (batch, frames, places) of its diagonals."""
    places = values.shape[2]
    diagonal = torch.arange(frames, device=values.device)[:, None] + torch.arange(places, device=values.device)
    return values.transpose(0, 1).gather(1, diagonal.expand(values.shape[1], -1, -1))


def _shifted(row: Tensor, by: int) -> Tensor:
    """Return a row (batch, places) moved by one place, minus infinity where nothing moves to."""
    none = torch.full_like(row[:, :1], -torch.inf)
    return torch.cat((none, row[:, :-1]) if by > 0 else (row[:, 1:], none), 1)


def _forward(blanks: Tensor, emits: Tensor, inside: Tensor) -> Tensor:
    """Return logarithms of the probability to come to each point: (diagonals, batch, places)."""
    row = torch.full_like(blanks[0], -torch.inf)
    row[:, 0] = 0
    rows = [row]
    for diagonal in range(1, blanks.shape[0]):
        row = torch.logaddexp(row + blanks[diagonal - 1], _shifted(row + emits[diagonal - 1], 1))
        row = torch.where(inside[diagonal], row, -torch.inf)
        rows.append(row)
    return torch.stack(rows)


def _backward(blanks: Tensor, emits: Tensor, inside: Tensor, last: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return logarithms of the probability to end from each point, and of those by a blank and by a label first."""
    row = torch.full_like(blanks[0], -torch.inf)
    rows = []
    for diagonal in range(blanks.shape[0] - 1, -1, -1):
        by_blank = torch.where(last[diagonal], blanks[diagonal], row + blanks[diagonal])
        by_label = torch.where(last[diagonal], -torch.inf, _shifted(row, -1) + emits[diagonal])
        row = torch.where(inside[diagonal], torch.logaddexp(by_blank, by_label), -torch.inf)
        rows.append((row, by_blank, by_label))
    whole, by_blank, by_label = (torch.stack(part[::-1]) for part in zip(*rows))
    return whole, by_blank, by_label


def rnnt_loss_forward(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int, clamp: float, fused_log_softmax: bool
) -> tuple[Tensor, Tensor]:
    """Return the costs (batch,) and their gradient with respect to logits (batch, frames, places, classes), clamped if ``clamp`` > 0."""
    _check(logits, targets, logit_lengths, target_lengths, blank)
    scores = logits.detach().float()
    if fused_log_softmax:
        scores = scores.log_softmax(-1)
    frames, places = scores.shape[1:3]
    wanted = torch.nn.functional.pad(targets.long(), (0, 1)).clamp(0, scores.shape[-1] - 1)
    labels = wanted[:, None, :, None].expand(-1, frames, -1, 1)
    frame, place = torch.arange(frames, device=logits.device)[:, None], torch.arange(places, device=logits.device)
    lengths, ends = logit_lengths.long().view(-1, 1, 1), target_lengths.long().view(-1, 1, 1)
    inside = (frame < lengths) & (place <= ends)
    # outside of the skewed lattice the first frame's and the last one's values stand: those points are not inside
    diagonal = torch.arange(frames + places - 1, device=logits.device)[:, None] - place
    within = _skewed(inside) & ((diagonal >= 0) & (diagonal < frames)).unsqueeze(1)
    last = _skewed((frame == lengths - 1) & (place == ends)) & within
    blanks, emits = _skewed(scores[..., blank]), _skewed(scores.gather(-1, labels).squeeze(-1))
    reached = _forward(blanks, emits, within)
    ended, by_blank, by_label = _backward(blanks, emits, within, last)
    total = ended[0, :, :1]

    def share(paths: Tensor) -> Tensor:
        return _straight(torch.where(within, reached + paths - total, -torch.inf).exp(), frames)

    gradient = scores.exp() * share(ended).unsqueeze(-1) if fused_log_softmax else torch.zeros_like(scores)
    gradient[..., blank] -= share(by_blank)
    gradient.scatter_add_(-1, labels, -share(by_label).unsqueeze(-1))
    if clamp > 0:
        gradient = gradient.clamp(-clamp, clamp)
    return -total[:, 0].to(logits.dtype), gradient.to(logits.dtype)


__all__ = ["rnnt_loss_forward"]
