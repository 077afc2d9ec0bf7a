"""Draws the pictures of the documents as SVG, into docs/pictures.

    python -m tools.pictures losses    # trains examples/digits_cnn.py with torch and with mstorch (needs torch), and draws both
    python -m tools.pictures speed     # the bars of the table in benchmarks/README.md
    python -m tools.pictures rooms     # the rooms of the package, each above those that it imports
"""
from __future__ import annotations

import argparse
import html
import math
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Sequence

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
_INK, _GREY, _ORANGE, _BLUE, _PALE = "#333333", "#9e9e9e", "#ee4c2c", "#2a6fdb", "#eef3fb"
_STYLE = "font-family='Helvetica, Arial, sans-serif' font-size='13'"


class Drawing:
    """The shapes of an SVG picture, in pixels from its upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
        self._parts = [f"<title>{html.escape(title)}</title>", f"<rect width='{width}' height='{height}' fill='white'/>"]

    def text(self, x: float, y: float, text: str, anchor: str = "start", color: str = _INK, bold: bool = False) -> None:
        """Add a line of text whose baseline is at ``y``."""
        weight = " font-weight='bold'" if bold else ""
        self._parts.append(f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{color}'{weight}>{html.escape(text)}</text>")

    def box(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """Add a filled rectangle."""
        self._parts.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='3' fill='{color}'/>")

    def line(self, points: Sequence[tuple[float, float]], color: str, width: float = 1, dashes: str = "") -> None:
        """Add a line through points."""
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
        self._parts.append(f"<polyline points='{joined}' fill='none' stroke='{color}' stroke-width='{width}'{dashed}/>")

    def write(self, name: str) -> None:
        """Write the SVG file."""
        FOLDER.mkdir(exist_ok=True)
        body = "\n".join(self._parts)
        (FOLDER / name).write_text(f"<svg xmlns='http://www.w3.org/2000/svg' {self._size} {_STYLE}>\n{body}\n</svg>\n", "utf-8")


def losses() -> None:
    """Draw the training losses of the digits example in both libraries."""
    script = str(ROOT / "examples" / "digits_cnn.py")
    theirs, ours = (_printed([sys.executable, *words, script]) for words in ((), ("-m", "mstorch")))
    made = Drawing(560, 300, "Training losses of examples/digits_cnn.py in torch and in mstorch")
    left, right, top, bottom = 60.0, 540.0, 60.0, 250.0
    most = math.ceil(max(theirs + ours) * 2) / 2
    for step in range(5):
        value = most * step / 4
        y = bottom - (bottom - top) * step / 4
        made.line([(left, y), (right, y)], "#e0e0e0")
        made.text(left - 8, y + 4, f"{value:.3g}", "end")

    def points(values: list[float]) -> list[tuple[float, float]]:
        width = (right - left) / max(1, len(values) - 1)
        return [(left + width * at, bottom - (bottom - top) * value / most) for at, value in enumerate(values)]

    made.line(points(theirs), _ORANGE, 7)
    made.line(points(ours), _BLUE, 2)
    for at, (x, _) in enumerate(points(theirs)):
        made.text(x, bottom + 18, str(at + 1), "middle")
    made.text((left + right) / 2, bottom + 38, "epoch", "middle")
    apart = max(abs(one - other) for one, other in zip(theirs, ours))
    made.text(left, 22, "Training loss, examples/digits_cnn.py", bold=True)
    told = f"up to {apart:.1g} apart" if apart else "equal in all digits that are printed"
    made.text(left, 42, f"torch (wide), mstorch (narrow): {told}", color=_GREY)
    made.write("losses.svg")


def _printed(command: list[str]) -> list[float]:
    """Run a command and return the losses that it prints, one per epoch."""
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return [float(found) for found in re.findall(r"train loss ([\d.]+)", ended.stdout)]


def speed() -> None:
    """Draw mstorch's time relative to torch's, for a training and an inference step."""
    sections = (ROOT / "benchmarks" / "README.md").read_text("utf-8").split("\n## ")
    table = next(section for section in sections if "\n| train " in section and "\n| infer " in section and "| train mlp" in section)
    rows = re.findall(r"^\| (train|infer) (\w+) \| \S+ \| \S+ \| ([\d.]+) \|", table, re.MULTILINE)
    made = Drawing(560, 60 + 24 * len(rows), "mstorch's time over torch's, by network")
    left, unit = 130.0, 200.0
    made.text(10, 22, "Time of a step over torch's (CPU, one thread; less is better)", bold=True)
    for at, (kind, name, ratio) in enumerate(rows):
        y = 40 + 24 * at
        made.text(left - 8, y + 13, f"{kind} {name}", "end")
        made.box(left, y, unit * float(ratio), 17, _BLUE if kind == "train" else "#7fa8ea")
        made.text(left + unit * float(ratio) + 6, y + 13, ratio)
    made.line([(left + unit, 34), (left + unit, 42 + 24 * len(rows))], _ORANGE, 1.5, "4 3")
    made.text(left + unit, 54 + 24 * len(rows), "torch", "middle", _ORANGE)
    made.write("speed.svg")


_ROOMS = (
    ("__init__", "the names of torch"),
    ("nn, optim, utils, distributed, …", "layers, optimizers, data, processes"),
    ("autograd, func", "gradients and functions of functions"),
    ("_tensor", "class Tensor"),
    ("_src/ops", "torch's functions, one file a family"),
    ("_src/tape", "nodes, engine, and the derivative of each primitive"),
    ("_src/core", "dtype, device, strides, storages"),
    ("_src/backend", "kernels by table; the only room that imports mindspore"),
    ("MindSpore", "CPU, Ascend, GPU"),
)


def rooms() -> None:
    """Draw the rooms of the package, each above those that it may import."""
    made = Drawing(560, 36 + 40 * len(_ROOMS), "The rooms of mstorch, each on those that it imports")
    for at, (name, text) in enumerate(_ROOMS):
        y = 16 + 40 * at
        made.box(20, y, 520, 34, _PALE if name != "MindSpore" else "#f4e8e4")
        made.text(34, y + 22, name, bold=True)
        made.text(526, y + 22, text, "end")
    made.write("rooms.svg")


PICTURES: dict[str, Callable[[], None]] = {"losses": losses, "speed": speed, "rooms": rooms}


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pictures", nargs="*", metavar="PICTURE", help=" ".join(PICTURES))
    options = parser.parse_args()
    unknown = sorted(set(options.pictures) - set(PICTURES))
    if unknown:
        parser.error(f"no such picture: {', '.join(unknown)}")
    for name in options.pictures or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
