"""torchvision's operators beside those of its own library: ``python -m tests.companions.against_torchvision PYTHON FOLDER``; with a third
argument, torchaudio, the calls of its operators (torchaudio_calls.py).

PYTHON has torch and the torchvision whose library was compiled for it; FOLDER contains that torchvision for mstorch's process
(``pip install --no-deps --target FOLDER torchvision``). Values, gradients and errors of 671 calls are compared.
"""
from __future__ import annotations

import functools
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = {"float64": 1e-10, "float32": 2e-4, "float16": 0.03, "bfloat16": 0.1}
DTYPES = ("float64", "float32", "float16", "bfloat16")
Call = tuple[tuple, Callable[[], object]]


def _regions(draw: np.random.Generator, count: int, sides: tuple[float, float], kind: int) -> np.ndarray:
    """Return regions, some outside: 0 any, 1 whole numbers, 2 without area, 3 halves, 4 from right to left, 5 huge."""
    high, wide = sides
    corners = draw.random((count, 4)) * np.array([wide, high, wide, high]) * 1.3 - 0.15 * wide
    found = np.concatenate([draw.integers(0, 2, (count, 1)), np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])], 1)
    if kind in (1, 3):
        found[:, 1:] = np.round(found[:, 1:]) + (0.5 if kind == 3 else 0)
    if kind == 2:
        found[:, 3:] = found[:, 1:3]
    if kind == 4:
        found[:, 1:] = found[:, [3, 4, 1, 2]]
    if kind == 5:
        found[:, 1:] *= 20
    return found


def _of_regions(torch, draw: np.random.Generator) -> Iterator[Call]:
    vision = torch.ops.torchvision
    for dtype in DTYPES:
        kinds = [(kind, scale, samples) for kind in range(6) for scale in (1.0, 0.5, 0.0625) for samples in (2, -1, 0, 3)]
        for kind, scale, samples in kinds if dtype == "float64" else [one for one in kinds if one[1] != 0.5 and one[2] in (2, -1)]:
            images, rois = draw.normal(size=(2, 12, 9, 13)), _regions(draw, 5, (9 / scale, 13 / scale), kind)

            def run(name, *numbers, images=images, rois=rois, dtype=dtype):
                leaf = torch.tensor(images).to(getattr(torch, dtype)).requires_grad_()
                found = getattr(vision, name)(leaf, torch.tensor(rois).to(getattr(torch, dtype)), *numbers)
                found = list(found) if isinstance(found, tuple) else [found]
                weight = torch.linspace(-1, 1, found[0].numel(), dtype=torch.float64).view(found[0].shape).to(found[0].dtype)
                return [*found, *torch.autograd.grad((found[0] * weight).sum(), leaf)]

            calls = [("roi_align", scale, 3, 4, samples, aligned) for aligned in (True, False)] + [("ps_roi_align", scale, 2, 3, samples)]
            if samples == 2:
                calls += [("roi_pool", scale, 3, 4), ("ps_roi_pool", scale, 2, 3)]
            for call in calls:
                yield (call[0], dtype, kind, *call[1:]), lambda call=call, run=run: run(*call)


def _of_taps(torch, draw: np.random.Generator) -> Iterator[Call]:
    for dtype in DTYPES[:3]:
        for channels, outputs, groups, offset_groups, kernel, stride, padding, dilation, masked in (
            (6, 4, 1, 1, (3, 3), (1, 1), (1, 1), (1, 1), True), (6, 4, 2, 3, (3, 2), (2, 1), (0, 2), (1, 2), True),
            (4, 4, 4, 2, (1, 1), (1, 1), (0, 0), (1, 1), False), (6, 8, 2, 1, (3, 3), (2, 2), (3, 3), (2, 2), False),
        ):  # fmt: skip
            sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip((8, 7), padding, dilation, kernel, stride)]
            for spread in (0.0, 1.0, 5.0, -3.0):
                taps = offset_groups * kernel[0] * kernel[1]
                moves = draw.normal(size=(2, 2 * taps, *sizes)) * abs(spread)
                moves = np.round(moves) if spread < 0 else moves
                arrays = [draw.normal(size=(2, channels, 8, 7)), draw.normal(size=(outputs, channels // groups, *kernel)), moves,
                          draw.random((2, taps, *sizes)), draw.normal(size=outputs)]  # fmt: skip
                numbers = (*stride, *padding, *dilation, groups, offset_groups, masked)

                def run(arrays=arrays, numbers=numbers, masked=masked, dtype=dtype):
                    leaves = [torch.tensor(item).to(getattr(torch, dtype)).requires_grad_() for item in arrays]
                    found = torch.ops.torchvision.deform_conv2d(*leaves, *numbers)
                    weight = torch.linspace(-1, 1, found.numel(), dtype=torch.float64).view(found.shape).to(found.dtype)
                    return [found, *torch.autograd.grad((found * weight).sum(), leaves if masked else [*leaves[:3], leaves[4]])]

                yield ("deform_conv2d", dtype, channels, outputs, kernel, spread), run


def _of_boxes(torch, draw: np.random.Generator) -> Iterator[Call]:
    for count in (0, 1, 2, 50, 500, 3000):
        for dtype in DTYPES[:3]:
            for threshold in (0.0, 0.3, 0.5, 1.0):
                dets = draw.random((count, 4)) * [100, 100, 60, 60]
                dets[:, 2:] += dets[:, :2]
                given = [torch.tensor(item).to(getattr(torch, dtype)) for item in (dets, np.round(draw.random(count), 2))]
                yield ("nms", dtype, count, threshold), lambda given=given, threshold=threshold: [torch.ops.torchvision.nms(*given, threshold)]


def _refused(torch, draw: np.random.Generator) -> Iterator[Call]:
    def some(*shape):
        return torch.rand(*shape)

    vision = torch.ops.torchvision
    taps = (1, 1, 0, 0, 1, 1, 1, 1, True)
    for name, call in {
        "nms of one dimension": lambda: vision.nms(some(4), some(1), 0.5), "nms of five sides": lambda: vision.nms(some(3, 5), some(3), 0.5),
        "nms of two scores": lambda: vision.nms(some(3, 4), some(2), 0.5), "nms of integers": lambda: vision.nms(some(3, 4).int(), some(3).int(), 0.5),
        "nms of two dtypes": lambda: vision.nms(some(3, 4), some(3).double(), 0.5),
        "regions of four": lambda: vision.roi_align(some(1, 2, 4, 4), some(3, 4), 1.0, 2, 2, 2, True),
        "regions of another dtype": lambda: vision.roi_align(some(1, 2, 4, 4), some(3, 5).double(), 1.0, 2, 2, 2, True),
        "channels": lambda: vision.ps_roi_pool(some(1, 3, 4, 4), some(3, 5), 1.0, 2, 2),
        "offsets": lambda: vision.deform_conv2d(some(1, 2, 5, 5), some(2, 2, 3, 3), some(1, 17, 3, 3), some(1, 9, 3, 3), some(2), *taps),
        "size of offsets": lambda: vision.deform_conv2d(some(1, 2, 5, 5), some(2, 2, 3, 3), some(1, 18, 4, 3), some(1, 9, 3, 3), some(2), *taps),
        "mask": lambda: vision.deform_conv2d(some(1, 2, 5, 5), some(2, 2, 3, 3), some(1, 18, 3, 3), some(1, 8, 3, 3), some(2), *taps),
    }.items():
        yield (name, "float32"), call


def _families(package: str) -> list[Callable[[np.random.Generator], Iterator[Call]]]:
    import torch

    if package == "torchaudio":
        from . import torchaudio_calls

        return list(torchaudio_calls.FAMILIES)
    import torchvision

    assert torchvision.extension._has_ops()
    return [functools.partial(calls, torch) for calls in (_of_regions, _of_taps, _of_boxes, _refused)]


def _computed(path: str, package: str) -> None:
    """Compute all calls of a package with this process's torch, and write the results."""
    warnings.simplefilter("ignore")
    draw, results = np.random.default_rng(0), {}
    for calls in _families(package):
        for name, call in calls(draw):
            try:
                results[name] = [item.detach().double().numpy().copy() for item in call()]
            except RuntimeError as error:
                results[name] = re.sub(r"^.*\.cpp:\d+, ", "", str(error).split("\n")[0])
    Path(path).write_bytes(pickle.dumps(results))


def _differs(want: object, got: object, tolerance: float) -> bool:
    if isinstance(want, str) or isinstance(got, str):
        return not (isinstance(want, str) and isinstance(got, str) and (want[:40] in got or got[:40] in want))
    pairs = list(zip(want, got, strict=True))
    return any(one.shape != other.shape or not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True) for one, other in pairs)


def main(python: str, folder: str, package: str = "torchvision") -> int:
    """Run both, and print what differs."""
    with tempfile.TemporaryDirectory() as place:
        paths, code = [os.path.join(place, name) for name in ("theirs", "ours")], "from tests.companions import against_torchvision as a; a._computed"
        alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([python, "-c", f"{code}({paths[0]!r}, {package!r})"], env={**alone, "PYTHONPATH": str(ROOT)}, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
        ours = {**alone, "PYTHONPATH": f"{ROOT}:{folder}", "GLOG_v": "3"}
        subprocess.run([sys.executable, "-m", "mstorch", "-c", f"{code}({paths[1]!r}, {package!r})"], env=ours, cwd=ROOT, check=True)
        want, got = (pickle.loads(Path(path).read_bytes()) for path in paths)
    wrong = [name for name in want if _differs(want[name], got[name], TOLERANCE[name[1]])]
    for name in wrong:
        print(*name, *(f"{title}: {found if isinstance(found, str) else 'values'}" for title, found in (("want", want[name]), ("got", got[name]))))
    print(f"{len(want)} calls, {len(wrong)} differ")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
