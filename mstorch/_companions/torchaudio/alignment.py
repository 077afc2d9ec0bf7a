"""torchaudio::forced_align: the most probable path of CTC (Graves 2006) through blanks and the labels of a target, in NumPy."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..._src.core.fallback import warn_of_cpu
from ..drawing import array

Tensor = torch.Tensor


def _check(scores: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int) -> None:
    def require(holds: bool, text: str) -> None:
        if not holds:
            raise RuntimeError(text)

    floats = (torch.float64, torch.float32, torch.float16)
    require(scores.dtype in floats, "log_probs must be float64, float32 or float16 (half) type")
    require(targets.dtype in (torch.int32, torch.int64), "targets must be int32 or int64 type")
    require(scores.is_contiguous(), "log_probs must be contiguous")
    require(targets.is_contiguous(), "targets must be contiguous")
    require(scores.dim() == 3, "log_probs must be 3-D (batch_size, input length, num classes)")
    require(targets.dim() == 2, "targets must be 2-D (batch_size, target length,)")
    require(frames.dim() == 1, "input_lengths must be 1-D")
    require(labels.dim() == 1, "target_lengths must be 1-D")
    require(scores.shape[0] == 1, "The batch dimension for log_probs must be 1 at the current version.")
    require(0 <= blank < scores.shape[-1], "blank must be within [0, num classes)")
    require(int(frames.max()) == scores.shape[1], "input length mismatch")
    require(int(labels.max()) == targets.shape[1], "target length mismatch")


def _path(scores: Array, target: Array, blank: int) -> Array:
    """Return the class of each frame on the most probable path. The states are a blank, the first label, a blank, …, a blank."""
    frames, count = len(scores), 2 * len(target) + 1
    repeats = int((target[1:] == target[:-1]).sum())
    if frames < len(target) + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {frames}, targets length: {len(target)}, "
            f"and number of repeats: {repeats}"
        )
    states = np.full(count, blank)
    states[1::2] = target
    skips = np.zeros(count, bool)  # from label to label, if they differ
    skips[3::2] = target[1:] != target[:-1]
    chances = scores[:, np.minimum(states, scores.shape[1] - 1)]
    best = np.full(count, -np.inf, scores.dtype)
    best[:2] = chances[0, :2]
    steps = np.zeros((frames, count), np.int8)
    for frame in range(1, frames):
        one, two = np.full_like(best, -np.inf), np.full_like(best, -np.inf)
        one[1:], two[2:] = best[:-1], np.where(skips[2:], best[:-2], -np.inf)
        by_two = (two > one) & (two > best)
        by_one = (one > best) & (one > two)
        steps[frame] = np.where(by_two, 2, by_one)
        best = np.where(by_two, two, np.where(by_one, one, best)) + chances[frame]
    state = count - 1 if count == 1 or best[-1] > best[-2] else count - 2
    path = np.empty(frames, np.int64)
    for frame in range(frames - 1, -1, -1):
        path[frame] = states[state]
        state -= int(steps[frame, state])
    return path


def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Return the class of each frame (batch, frames), and the logarithms of probabilities as they came."""
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    if log_probs.device.type != "cpu":
        warn_of_cpu("ops.torchaudio.forced_align", str(log_probs.dtype).removeprefix("torch."))
    scores, wanted = array(log_probs), array(targets)
    paths = _path(scores[0], wanted[0], blank).astype(wanted.dtype)[None]
    return torch.from_numpy(paths).to(log_probs.device), log_probs


__all__ = ["forced_align"]
