"""torchaudio's compiled operators against all paths and sample by sample, in double precision."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions

audio = companions.torchaudio
loop = torch.ops.torchaudio._lfilter_core_loop


def _costs(scores, targets, frames, labels):
    """Return minus the logarithm of the sum of the probabilities of all paths, for logarithms of probabilities."""
    costs = []
    for b, (count, ends) in enumerate(zip(frames, labels)):
        paths = []
        for steps in itertools.combinations(range(count - 1 + ends), ends):  # which steps are labels; the last one is a blank
            t, u, total = 0, 0, 0.0
            for step in range(count - 1 + ends):
                if step in steps:
                    total, u = total + scores[b, t, u, targets[b][u]], u + 1
                else:
                    total, t = total + scores[b, t, u, 0], t + 1
            paths.append(total + scores[b, t, u, 0])
        costs.append(-torch.logsumexp(torch.stack(paths), 0))
    return torch.stack(costs)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_loss_is_the_sum_over_all_paths(fused: bool, dtype: torch.dtype) -> None:
    logits = torch.tensor(np.random.default_rng(0).normal(size=(3, 4, 4, 5)) * 2).to(dtype)
    logits = logits if fused else logits.log_softmax(-1)
    targets, frames, labels = [[1, 2, 2], [4, 1, 1], [3, 3, 3]], [4, 2, 1], [3, 1, 0]
    leaf = logits.double().requires_grad_()
    want = _costs(leaf.log_softmax(-1) if fused else leaf, targets, frames, labels)
    slope, = torch.autograd.grad(want.sum(), leaf)
    counts = [torch.tensor(item, dtype=torch.int32) for item in (targets, frames, labels)]
    costs, grad = audio.rnnt_loss_forward(logits, *counts, 0, -1.0, fused)
    tolerance = 2e-5 if dtype is torch.float32 else 5e-3
    torch.testing.assert_close(costs.double(), want, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(grad.double(), slope, rtol=tolerance, atol=tolerance)
    assert costs.dtype is dtype and grad.dtype is dtype
    clamped = audio.rnnt_loss_forward(logits, *counts, 0, 0.1, fused)[1]
    torch.testing.assert_close(clamped, grad.clamp(-0.1, 0.1))
    with pytest.raises(RuntimeError, match="input length mismatch"):
        audio.rnnt_loss_forward(logits, counts[0], counts[1] - 1, counts[2], 0, -1.0, fused)
    with pytest.raises(RuntimeError, match="targets must be int32 type"):
        audio.rnnt_loss_forward(logits, counts[0].long(), *counts[1:], 0, -1.0, fused)


@pytest.mark.parametrize("target", [[1], [1, 2], [2, 2], [3, 1, 3]])
def test_alignment_is_the_best_path(target: list[int]) -> None:
    scores = torch.tensor(np.random.default_rng(len(target)).normal(size=(1, 6, 4)))
    best = max(
        (path for path in itertools.product(range(4), repeat=6) if [k for k, _ in itertools.groupby(path) if k] == target),
        key=lambda path: sum(float(scores[0, t, k]) for t, k in enumerate(path)),
    )
    path, same = audio.forced_align(scores, torch.tensor([target]), torch.tensor([6]), torch.tensor([len(target)]), 0)
    assert path.tolist() == [list(best)] and path.dtype is torch.int64 and torch.equal(same, scores)
    with pytest.raises(RuntimeError, match="too long for CTC"):
        audio.forced_align(scores, torch.ones(1, 4, dtype=torch.int64), torch.tensor([6]), torch.tensor([4]), 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("before", [False, True])
def test_loops_over_samples(dtype: torch.dtype, before: bool) -> None:
    draw = np.random.default_rng(0)
    x, taps, out = draw.normal(size=(2, 3, 12)), draw.normal(size=(3, 4)) * 0.3, draw.normal(size=(2, 3, 15)) * before
    want = out.copy()
    for n in range(12):
        want[..., n + 3] = x[..., n] - (want[..., n : n + 4] * taps).sum(-1)
    given = [torch.tensor(item).to(dtype) for item in (x, taps, out)]
    assert loop(*given) is given[2]
    tolerance = 1e-5 if dtype is torch.float32 else 1e-10
    torch.testing.assert_close(given[2].double(), torch.tensor(want), rtol=tolerance, atol=tolerance)
    with pytest.raises(RuntimeError, match="do not fit"):
        loop(given[0], given[1], given[2][..., 1:].contiguous())
    with pytest.raises(RuntimeError, match="float32 or float64"):
        loop(*(item.half() for item in given))


def test_overdrive() -> None:
    draw = np.random.default_rng(0)
    wave, bent, last_in, last_out = (torch.tensor(draw.normal(size=shape)) for shape in ((2, 9), (2, 9), (2,), (2,)))
    out, want, was, slow = torch.zeros(2, 9, dtype=torch.float64), [], last_in.clone(), last_out.clone()
    for n in range(9):
        slow, was = bent[:, n] - was + 0.995 * slow, bent[:, n]
        want.append(wave[:, n] * 0.5 + slow * 0.75)
    torch.ops.torchaudio._overdrive_core_loop(wave, bent, last_in, last_out, out)
    torch.testing.assert_close(out, torch.stack(want, 1))
    torch.testing.assert_close(last_in, was)
    torch.testing.assert_close(last_out, slow)
    with pytest.raises(RuntimeError, match="not implemented for 'Half'"):
        torch.ops.torchaudio._overdrive_core_loop(wave.half(), bent, last_in, last_out, out)
