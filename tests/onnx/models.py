"""Networks of torchvision, timm, transformers and examples/models in ONNX, computed by onnxruntime, against torch's numbers.

    python -m tests.onnx.models [GROUP or NAME…] --path SITE_PACKAGES   # networks of packages and of examples/models, at opset 17

Real torch makes each network and says what it computes. mstorch makes it with the same numbers and exports it. A third process, which has
neither, lets onnxruntime compute the file, for another call than that which the network was exported with.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.export import networks
from tests.export.models import attempt, leaves_of, stages
from tests.export.networks import Call, Made

ROOT = Path(__file__).resolve().parents[2]
OPSET = 17
NEAR = 1e-4
"""Allowed difference from torch's numbers, relative to the largest of an array."""


def _sounds() -> Call:
    import torch

    return (torch.randn(2, 8, 40),), {}


def _whisper_encoder() -> Made:
    network, _ = networks.GROUPS["transformers"]["Whisper"]()
    return network.get_encoder(), _sounds


def _recurrent(kind: str) -> Callable[[], Made]:
    def make() -> Made:
        import torch

        network = getattr(torch.nn, kind)(5, 8, num_layers=2, bidirectional=True, batch_first=True)
        return network, lambda: ((torch.randn(3, 7, 5),), {})

    return make


def _vgg() -> Made:
    from torchvision.models.vgg import make_layers

    return make_layers([4, "M", 8, 8, "M"], batch_norm=True), networks._images(32)


_vision, _timm, _hugging, _small = networks._vision, networks._timm, networks._hugging, networks._SMALL

FURTHER: dict[str, dict[str, Callable[[], Made]]] = {
    "examples": {"LSTM": _recurrent("LSTM"), "GRU": _recurrent("GRU")},
    "torchvision": {
        "VGG's features": _vgg, "EfficientNet-B0": _vision("efficientnet_b0", 64, num_classes=5), "RegNet": _vision("regnet_y_400mf", 64, num_classes=5),
        "MNASNet": _vision("mnasnet0_5", 64, num_classes=5), "MobileNetV2": _vision("mobilenet_v2", 64, num_classes=5),
        "GoogLeNet": _vision("googlenet", 64, num_classes=5, aux_logits=False, init_weights=False),
        "ResNet-18": _vision("resnet18", 64, num_classes=5),
    },
    "timm": {
        name: _timm(name) for name in (
            "test_byobnet", "test_resnet", "ghostnet_050", "lcnet_035", "tinynet_e", "edgenext_xx_small", "mobilevit_xxs", "regnetx_002",
            "rexnet_100", "repvgg_a0", "hardcorenas_a", "mobilenetv4_conv_small_035", "fbnetc_100", "semnasnet_075",
        )
    },
    "transformers": {
        "Whisper's encoder": _whisper_encoder,
        "ViT of transformers": _hugging(
            "ViT", "ForImageClassification", networks._images(16), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            image_size=16, patch_size=8,
        ),
        "DistilBERT": _hugging("DistilBert", "ForSequenceClassification", networks._padded, vocab_size=50, dim=16, n_layers=2, n_heads=2, hidden_dim=32),
    },
}  # fmt: skip
GROUPS = {group: {**made, **FURTHER[group]} for group, made in networks.GROUPS.items()}


def chosen(words: list[str]) -> list[tuple[str, str]]:
    """Return pairs of a group and a network that the words name; all without words."""
    pairs = [(group, name) for group, made in GROUPS.items() for name in made]
    return [pair for pair in pairs if not words or pair[0] in words or pair[1] in words]


def made(group: str, name: str) -> tuple[Any, Call, Call]:
    """Return a network in evaluation mode, and two calls of it."""
    import torch

    torch.manual_seed(0)
    network, draw = GROUPS[group][name]()
    return networks.awake(network).eval(), draw(), draw()


def by_torch(group: str, name: str, folder: Path) -> str:
    """Write torch's results, and the arrays of the call."""
    import torch

    network, example, other = made(group, name)
    with torch.no_grad():
        result = network(*other[0], **other[1])
    torch.save({"state": network.state_dict(), "example": example}, folder / f"{name}.numbers")
    given, wanted = leaves_of(other), leaves_of(result)
    np.savez(folder / f"{name}.npz", **{f"given{n}": one.numpy() for n, one in enumerate(given)},
             **{f"wanted{n}": one.numpy() for n, one in enumerate(wanted)})  # fmt: skip
    return ""


def by_mstorch(group: str, name: str, folder: Path) -> str:
    """Export the network with torch's numbers."""
    import torch

    kept = torch.load(folder / f"{name}.numbers", weights_only=False)
    network, _, _ = made(group, name)
    network.load_state_dict(kept["state"])
    args, kwargs = kept["example"]

    def export() -> str:
        torch.onnx.export(network, args, folder / f"{name}.onnx", kwargs=kwargs, opset_version=OPSET)
        return ""

    return attempt(export)


def by_onnxruntime(group: str, name: str, folder: Path) -> str:
    """Run the file, and compare."""
    runtime = importlib.import_module("onnxruntime")

    def compute() -> str:
        if not (folder / f"{name}.onnx").exists():
            return "no file"
        session = runtime.InferenceSession(folder / f"{name}.onnx")
        with np.load(folder / f"{name}.npz") as kept:
            given = [kept[key] for key in kept if key.startswith("given")]
            wanted = [kept[key] for key in kept if key.startswith("wanted")]
        inputs = session.get_inputs()
        if len(inputs) != len(given):
            return f"{len(inputs)} inputs instead of {len(given)}"
        found = session.run(None, {one.name: value for one, value in zip(inputs, given)})
        return differs(found, wanted)

    return attempt(compute)


def differs(found: list[Any], wanted: list[Any]) -> str:
    """Return the difference of arrays from the expected ones; "" if there is none."""
    if len(found) != len(wanted):
        return f"{len(found)} arrays instead of {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"array {number}: {one.shape} {one.dtype} instead of {other.shape} {other.dtype}"
        largest = np.abs(other).max()
        if not largest > 0:
            return f"array {number} has no number but 0: nothing is compared"
        if not np.abs(one - other).max() <= NEAR * largest:
            return f"array {number}: {np.abs(one - other).max():.1e} apart, where {largest:.1e} is the largest"
    return ""


def stage(library: str, words: list[str], folder: Path) -> None:
    """Run all networks in one of the three processes, and report each in a line."""
    if library == "mstorch":
        import mstorch

        mstorch.install()
    elif library == "torch":
        import torch

        from tests.packages.run import _declare_torchvision

        _declare_torchvision(torch)
    warnings.simplefilter("ignore")
    does = {"torch": by_torch, "mstorch": by_mstorch, "onnxruntime": by_onnxruntime}[library]
    for group, name in chosen(words):
        print(f"TOLD {json.dumps([group, name, does(group, name, folder)])}", flush=True)


def run(words: list[str], paths: list[str]) -> dict[tuple[str, str], str]:
    """Return what is wrong with each network; "" if onnxruntime gives torch's numbers."""
    told: dict[tuple[str, str], str] = {}
    for _, group, name, said in stages("tests.onnx.models", ("torch", "mstorch", "onnxruntime"), words, paths):
        told[group, name] = told.get((group, name)) or said
    return told


def main() -> int:
    """Print a line for each network and the count; return the number of those that fail."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--path", action="append", default=[], help="a folder of installed packages")
    parser.add_argument("--stage")
    parser.add_argument("--folder")
    options = parser.parse_args()
    sys.path.extend(options.path)
    if options.stage:
        stage(options.stage, options.words, Path(options.folder))
        return 0
    missing = [group for group in GROUPS if group != "examples" and importlib.util.find_spec(group) is None]
    pairs = [pair for pair in chosen(options.words) if pair[0] not in missing]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    told = run([name for _, name in pairs], options.path)
    for (group, name), said in told.items():
        print(f"{group}: {name}: {said or 'equal'}")
    bad = sum(map(bool, told.values()))
    print(f"{len(told) - bad} of {len(told)} networks are equal in onnxruntime at opset {OPSET}")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(), 1))
