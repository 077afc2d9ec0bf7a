"""torchvision's detection models on the emulated Ascend beside the CPU: a step of training and an evaluation, kernels and reads counted:

    python -m tests.cann python -m mstorch -m tests.cann.detection [MODEL …]

torchvision's Python must be installed. Random functions of the device draw the CPU's numbers. Losses, gradients and boxes, in which normalization
of a few pixels makes rounding large, are compared with those in double precision: they may lie three times as far from them as the CPU's. In
training the second stage gets the CPU's proposals.
"""
from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CALLS = os.environ.setdefault("EMULATED_CANN_CALLS", os.path.join(tempfile.mkdtemp(), "calls"))  # before MindSpore starts the device

import mstorch as torch  # noqa: E402
from mstorch._src.core import generator  # noqa: E402
from tests.cann import cpu_numbers, reads  # noqa: E402
from tests.packages.jobs import torchvision_detection as jobs  # noqa: E402

_TOLERANCE = 2e-4
_KINDS: dict[str, dict[str, bool]] = {"maskrcnn_resnet50_fpn": {"masks": True}, "keypointrcnn_resnet50_fpn": {"keypoints": True}}
MODELS: dict[str, dict[str, Any]] = {
    "fasterrcnn_mobilenet_v3_large_fpn": {"num_classes": 3}, "maskrcnn_resnet50_fpn": {"num_classes": 3},
    "keypointrcnn_resnet50_fpn": {"num_classes": 2, "num_keypoints": 5}, "retinanet_resnet50_fpn": {"num_classes": 3, "score_thresh": 0.005},
    "ssd300_vgg16": {"num_classes": 3, "score_thresh": 0.005}, "fcos_resnet50_fpn": {"num_classes": 3, "score_thresh": 0.001},
}  # fmt: skip


def _moved(item: Any, device: Any, kind: torch.dtype = torch.float32) -> Any:
    if isinstance(item, dict):
        return {key: _moved(value, device, torch.float32 if key == "keypoints" else kind) for key, value in item.items()}
    if isinstance(item, list):
        return [_moved(value, device, kind) for value in item]
    return (item.to(kind) if item.is_floating_point() else item).to(device)


def kernels() -> int:
    """Return how many kernels the device has been given."""
    torch.npu.synchronize()
    path = Path(_CALLS)
    return len(path.read_text().splitlines()) if path.exists() else 0


def _with_proposals(model: Any, proposals: list[Any]) -> None:
    """Let the heads of a model of two stages see these proposals in training, or note its own there: which are proposed, and in which order,
    depends on scores that differ by less than rounding before anything is learnt."""

    def given(heads: Any, arguments: tuple[Any, ...]) -> Any:
        features, own, *rest = arguments
        if not heads.training:
            return None
        proposals.extend(item.detach().cpu() for item in own[len(proposals) :])
        return (features, [item.to(other) for item, other in zip(proposals, own)], *rest)

    if hasattr(model, "roi_heads"):
        model.roi_heads.register_forward_pre_hook(given)


def _step(model: Any, device: Any, kind: torch.dtype = torch.float32, **kinds: bool) -> tuple[dict[str, float], dict[str, Any]]:
    """Return losses and gradients of a step of training."""
    torch.manual_seed(7)
    images, targets = _moved(jobs._images(), device, kind), _moved(jobs._targets(**kinds), device, kind)
    model.train()
    losses = model(images, targets)
    sum(losses.values()).backward()
    return losses, {name: item.grad for name, item in model.named_parameters() if item.grad is not None}


def _found(model: Any, device: Any, kind: torch.dtype = torch.float32) -> list[dict[str, Any]]:
    model.eval()
    with torch.no_grad():
        return model(_moved(jobs._images(), device, kind))


def _apart(one: Any, other: Any) -> float:
    one, other = one.detach().cpu().double(), other.detach().cpu().double()
    if one.shape != other.shape:
        return float("inf")
    return float((one - other).abs().max() / (1e-3 + other.abs().max())) if one.numel() else 0.0


def compared(name: str) -> dict[str, Any]:
    """Return how far losses, gradients and boxes of one model lie from the CPU's, with kernels, reads and their lines."""
    build: Callable[..., Any] = getattr(jobs.detection, name)
    device = torch.accelerator.current_accelerator()
    small = {} if name.startswith("ssd") else jobs._SMALL  # SSD has one size of its own
    models: list[Any] = []
    proposals: list[Any] = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        models.append(build(**jobs._NO_WEIGHTS, **MODELS[name], **small).float().to(place))
        _with_proposals(models[-1], proposals)
    kinds = _KINDS.get(name, {})
    want_losses, want_slopes = _step(models[0], "cpu", **kinds)
    before = kernels()
    with reads.counted() as lines:
        losses, slopes = _step(models[1], device, **kinds)
    middle = kernels()
    report: dict[str, Any] = {"kernels": middle - before, "reads": dict(lines.most_common())}
    torch.manual_seed(0)
    exact = build(**jobs._NO_WEIGHTS, **MODELS[name], **small).float().double()
    _with_proposals(exact, proposals)
    exact_losses, exact_slopes = _step(exact, "cpu", kind=torch.float64, **kinds)
    for key, own in (("losses", losses), ("losses of the CPU", want_losses)):
        report[key] = max(_apart(own[part], exact_losses[part]) for part in exact_losses)
    for key, places in (("slopes", slopes), ("slopes of the CPU", want_slopes)):
        squares = [(places[item].cpu().double() - exact_slopes[item]).square().sum() for item in exact_slopes]
        report[key] = float(torch.stack(squares).sum().sqrt() / torch.stack([item.square().sum() for item in exact_slopes.values()]).sum().sqrt())
    want = _found(models[0], "cpu")
    before = kernels()
    with reads.counted() as lines:
        found = _found(models[1], device)
    report["kernels of eval"], report["reads of eval"] = kernels() - before, dict(lines.most_common())
    certain = _found(exact, "cpu", torch.float64)
    for key, results in (("boxes", found), ("boxes of the CPU", want)):
        report[key] = max(_apart(one[part], other[part]) for one, other in zip(results, certain) for part in other)
    report["number"] = sum(len(item["scores"]) for item in want)
    return report


def main(names: list[str]) -> list[str]:
    """Print a line for each model; return those that differ."""
    warnings.simplefilter("ignore")
    cpu_numbers.draw(generator.default_generator._engine)
    wrong = []
    for name in names or MODELS:
        began = time.time()
        report = compared(name)
        total = [sum(report[key].values()) for key in ("reads", "reads of eval")]
        print(f"{name}: losses {report['losses']:.1e} (the CPU's {report['losses of the CPU']:.1e}), gradients {report['slopes']:.1e} (the CPU's {report['slopes of the CPU']:.1e}), {report['number']} boxes {report['boxes']:.1e} "
              f"(the CPU's {report['boxes of the CPU']:.1e}); "
              f"{report['kernels']} + {report['kernels of eval']} kernels, {total[0]} + {total[1]} reads ({time.time() - began:.0f} s)", flush=True)
        for key in ("reads", "reads of eval"):
            for line, count in report[key].items():
                print(f"    {key}: {count} {line}", flush=True)
        if any(report[key] > 3 * report[f"{key} of the CPU"] + _TOLERANCE for key in ("losses", "slopes", "boxes")):
            wrong.append(name)
    return wrong


if __name__ == "__main__":
    print(differing := main(sys.argv[1:]))
    sys.exit(bool(differing))
