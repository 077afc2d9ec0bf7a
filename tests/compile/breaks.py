"""Compile networks as whole graphs: those of examples/models, and 20 of timm if it is installed.

    python -m tests.compile.breaks          # what each network breaks at, and how many do; the exit code says whether any of the examples does
"""
from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mstorch
import mstorch.compiler

_EXAMPLES = Path(__file__).parents[2] / "examples" / "models"

# Small networks of timm, their constructor arguments, and the size of an image.
TIMM: dict[str, tuple[dict[str, Any], int]] = {
    "test_resnet": ({}, 64), "test_byobnet": ({}, 64), "test_efficientnet": ({}, 64), "test_efficientnet_gn": ({}, 64),
    "test_efficientnet_ln": ({}, 64), "test_efficientnet_evos": ({}, 64), "test_nfnet": ({}, 64), "test_convnext": ({}, 64),
    "test_convnext2": ({}, 64), "test_convnext3": ({}, 64), "test_mambaout": ({}, 64), "test_vit": ({"img_size": 64}, 64),
    "test_vit2": ({"img_size": 64}, 64), "test_vit3": ({"img_size": 64}, 64), "test_vit4": ({"img_size": 64}, 64), "resnet10t": ({}, 64),
    "mobilenetv3_small_050": ({}, 64), "convnext_atto": ({}, 64), "efficientnet_lite0": ({}, 64), "resmlp_12_224": ({"img_size": 32}, 32),
}  # fmt: skip


def examples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the networks of examples/models, each with a function that computes its loss."""
    for path in sorted(_EXAMPLES.glob("*.py")):
        module = importlib.import_module(path.stem)
        if hasattr(module, "build"):
            yield path.stem, lambda module=module: (module.build()[0].eval(), module.batch(), module.loss)


def of_timm() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the networks of timm."""
    timm = importlib.import_module("timm")
    for name, (options, size) in TIMM.items():
        def make(name: str = name, options: dict[str, Any] = options, size: int = size) -> Any:
            model = timm.create_model(name, pretrained=False, num_classes=7, **options).eval()
            return model, (mstorch.ones(1, 3, size, size),), lambda model, images: model(images)

        yield name, make


def broken(make: Callable[[], Any]) -> str:
    """Return the error at which a network breaks; "" if it compiles as a whole and returns the eager values."""
    mstorch.manual_seed(0)
    model, inputs, function = make()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    with mstorch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(model, *inputs)
        try:
            found = mstorch.compile(lambda *given: function(model, *given), backend="mindspore", fullgraph=True)(*inputs)
        except Exception as error:  # noqa: BLE001 - which one is what is told
            return f"{type(error).__name__}: {error}"[:300]
    return "" if mstorch.allclose(wanted, found, rtol=1e-3, atol=1e-4) else "other values"


def main() -> int:
    """Compile all networks; return the number of those of the examples that break."""
    counts = []
    for networks in (examples, of_timm):
        breaks = total = 0
        try:
            found = list(networks())
        except ModuleNotFoundError as error:
            print(error)
            continue
        for name, make in found:
            begin = time.monotonic()
            reason = broken(make)
            print(f"{name}: {reason or 'one graph'} ({time.monotonic() - begin:.0f} s)", flush=True)
            breaks, total = breaks + bool(reason), total + 1
        print(f"{networks.__name__}: {breaks} of {total} break", flush=True)
        counts.append(breaks)
    return counts[0]


if __name__ == "__main__":
    sys.path.insert(0, str(_EXAMPLES))
    mstorch.install()
    sys.exit(min(main(), 1))
