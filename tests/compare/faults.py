"""Forty planted faults, and programs without one: what ``python -m mstorch compare`` says of each.

    python -m tests.compare.faults                      # all, with real torch installed and CANN emulated: ten minutes on two cores
    python -m tests.compare.faults keywords evaluated   # some of the groups: keywords, ported, on_device, evaluated, without

A line for each fault: whether the report names the right place, and the right words. The last line counts.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs")


class Expected(NamedTuple):
    """The place that a report has to name, its phase, and words of the sentence after it."""

    where: str
    phase: str
    words: str


KEYWORDS = {
    "norm": Expected("Translator.encoder.norm", "forward", "eps=0.001"),
    "places": Expected("Translator.encoder", "forward", "before it calls Translator.encoder.places"),
    "inner mask": Expected("Translator.encoder", "forward", "before it calls Translator.encoder.attention"),
    "scale": Expected("Translator.encoder.attention", "forward", "calls Translator.encoder.attention with scale = 0.5 where torch has 0.25"),
    "dropout": Expected("Translator.decoder.drop", "forward", "p=0.3"),
    "causal": Expected("Translator.decoder.own", "forward", "with causal = False where torch has True"),
    "untied": Expected("Translator.decoder.words", "backward", "gives its parameters"),
    "smoothing": Expected("Translator", "forward", "the result of Translator"),
    "labels": Expected("Translator", "forward", "what the script gives to Translator differs"),
    "mask": Expected("Translator", "forward", "what the script gives to Translator differs"),
}
PORTED = {
    "residual": Expected("Classifier.body.0", "forward", "before it calls Classifier.body.0.slope"),
    "pool": Expected("Classifier.pool", "forward", "AdaptiveMaxPool2d"),
    "decay": Expected("AdamW (optimizer 0)", "step", "weight_decay is 0.01 where torch has 0.0"),
    "seed": Expected("the script", "forward", "another seed"),
    "order": Expected("the script", "forward", "draws before the first call"),
    "initial": Expected("the script", "forward", "the first that of Classifier.head.weight"),
    "betas": Expected("AdamW (optimizer 0)", "step", "betas is (0.9, 0.99)"),
    "schedule": Expected("AdamW (optimizer 0)", "step", "or a scheduler"),
    "sum": Expected("the loss", "forward", "computed outside of the modules"),
    "frozen": Expected("AdamW (optimizer 0)", "step", "right as backward gave it, differs at the step"),
}
EVALUATED = {
    "corners": Expected("Net.features", "forward", "the result of Pyramid"),
    "draws": Expected("Net.features", "forward", "which draws other random numbers"),
    "weights": Expected("Net.head", "forward", "bias of Linear is another from the start"),
    "training": Expected("Net.features.norm", "forward", "training=True where torch has training=False"),
    "mean": Expected("Net", "forward", "what the script gives to Net differs"),
    "argmin": Expected("evaluated.py", "reading", "what item() reads"),
    "temperature": Expected("evaluated.py", "reading", "what item() reads"),
    "clamped": Expected("evaluated.py", "reading", "what item() reads"),
    "loss": Expected("evaluated.py", "reading", "what __float__() reads"),
    "transposed": Expected("evaluated.py", "reading", "what tolist() reads"),
}
ON_DEVICE = {
    "softmax": Expected("Net.blocks.0.softmax", "forward", "the result of Softmax"),
    "gelu": Expected("Net.blocks.0.gelu", "forward", "the result of GELU"),
    "gelu_grad": Expected("Net.blocks.1.gelu", "backward", "the gradient that GELU gives its input"),
    "tanh": Expected("Net.gate", "forward", "the result of Tanh"),
    "embedding": Expected("Net.words", "forward", "the result of Embedding"),
    "lost write": Expected("Net.blocks.1.wide", "forward", "bias of Linear is another from the start"),
    "hook": Expected("Net.head", "backward", "the gradient that Linear gives its input"),
    "rate": Expected("AdamW (optimizer 0)", "step", "lr is 0.002"),
    "indices": Expected("Net", "forward", "what the script gives to Net differs"),
    "metric": Expected("on_device.py", "reading", "what item() reads"),
}
GROUPS = {"keywords": KEYWORDS, "ported": PORTED, "on_device": ON_DEVICE, "evaluated": EVALUATED}
# Programs without a fault: command lines below the root.
WITHOUT = [
    *(f"tests/compare/programs/keywords.py {variant}" for variant in ("adam", "sgd", "rmsprop")),
    *(f"tests/compare/programs/for_cuda.py {variant}" for variant in ("plain", "accumulated")),
    *(f"tests/compare/programs/evaluated.py {variant}" for variant in ("plain", "inference")),
    "tests/compare/planted.py", "tests/compare/planted_resnet.py", "tests/compare/characters.py",
    "examples/digits_cnn.py --epochs 1", "examples/digits_mlp.py --epochs 1",
    *(f"examples/models/train.py {model} --steps 4" for model in ("gpt", "resnet", "lstm_lm", "transformer", "unet")),
    "examples/tasks/graph.py --steps 4", "examples/tasks/detect.py --steps 4", "examples/tasks/play.py --steps 4",
]  # fmt: skip


def compare(arguments: list[str], plant: str, folder: str, emulated: bool = False) -> str:
    """Return the report on a script with a fault; on the emulated Ascend, where it is asked for, the device beside the CPU."""
    command = [sys.executable, "-m", "mstorch", "compare", "--no-operation", "--html", str(Path(folder, "page.html"))]
    if emulated:
        command = [sys.executable, "-m", "tests.cann", *command, "--device", "npu"]
    environment = {**os.environ, "PLANT": plant, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    ran = subprocess.run([*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return ran.stdout + (ran.stderr[-2000:] if "written: " not in ran.stdout else "")


def is_right(report: str, expected: Expected) -> bool:
    """Return whether a report names the place, the phase and the reason."""
    named = re.search(r"^  first        (.+), (\w+), step \d+$", report, re.M)
    if named is None or named[2] != expected.phase or expected.words not in report:
        return False
    return named[1] == expected.where or expected.phase == "reading" and named[1].startswith(f"{expected.where}:")


def ported(folder: str) -> str:
    """Return a copy of the program for GPUs, changed by ``port --write``."""
    script = Path(folder, "for_cuda.py")
    script.write_bytes((PROGRAMS / "for_cuda.py").read_bytes())
    command = [sys.executable, "-m", "mstorch", "port", str(script), "--write"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True)
    assert "import mstorch as torch" in script.read_text()
    return str(script)


def report_on(group: str, plant: str, folder: str) -> str:
    """Return the report on the program of a group with a fault."""
    if group == "ported":
        return compare([ported(folder)], plant, folder)
    arguments = [str(PROGRAMS / f"{group}.py"), *(["{device}"] if group == "on_device" else [])]
    return compare(arguments, plant, folder, group == "on_device")


def main(groups: list[str]) -> int:
    """Print a line for each fault and each program without one; return 1 if one is named wrongly."""
    right = wrong = 0
    for group in groups or [*GROUPS, "without"]:
        for plant, expected in GROUPS.get(group, {}).items():
            with tempfile.TemporaryDirectory() as folder:
                report = report_on(group, plant, folder)
            good = is_right(report, expected)
            right, wrong = right + good, wrong + (not good)
            print(f"{'right' if good else 'WRONG'}  {group}: {plant}" + ("" if good else f"\n{report}"), flush=True)
        for line in WITHOUT if group == "without" else []:
            with tempfile.TemporaryDirectory() as folder:
                script, *arguments = line.split()
                report = compare([str(ROOT / script), *arguments], "", folder)
            good = "agree" in report and "first   " not in report
            right, wrong = right + good, wrong + (not good)
            print(f"{'right' if good else 'WRONG'}  without: {line}" + ("" if good else f"\n{report}"), flush=True)
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
