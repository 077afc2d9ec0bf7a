"""Report page of a comparison: findings, both loss curves, and the deviation of each layer; also as an image."""
from __future__ import annotations

import html
import importlib
import importlib.util
import math
from typing import Any

from .align import Alignment

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "pre{background:#f6f6f6;padding:1em;overflow-x:auto}td,th{text-align:left;padding:.2em .6em;border-bottom:1px solid #ddd}"
    "table{border-collapse:collapse}text{font:12px system-ui,sans-serif;fill:#444}"
)
_COLOURS = ("#1f77b4", "#d62728")
_WIDTH, _HEIGHT, _EDGE = 900, 260, 50


def _curve(values: list[float], low: float, high: float, longest: int) -> str:
    points = []
    for number, value in enumerate(values):
        if math.isfinite(value):
            x = _EDGE + (_WIDTH - 2 * _EDGE) * number / max(longest - 1, 1)
            y = _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / max(high - low, 1e-12)
            points.append(f"{x:.1f},{y:.1f}")
    return " ".join(points)


def _chart(series: dict[str, list[float]], label: str) -> str:
    """Return curves over their indices as SVG."""
    every = [value for values in series.values() for value in values if math.isfinite(value)]
    if not every:
        return "<p>nothing to draw</p>"
    low, high, longest = min(every), max(every), max(map(len, series.values()))
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(label)}">',
             f'<text x="{_EDGE}" y="20">{html.escape(label)}</text>',
             f'<text x="2" y="{_EDGE}">{high:.3g}</text><text x="2" y="{_HEIGHT - _EDGE}">{low:.3g}</text>']  # fmt: skip
    for number, (name, values) in enumerate(series.items()):
        dash = ' stroke-dasharray="6 4"' if number else ""
        points = _curve(values, low, high, longest)
        parts.append(f'<polyline fill="none" stroke="{_COLOURS[number]}" stroke-width="2"{dash} points="{points}"/>')
        parts.append(f'<text x="{_EDGE + 150 * number}" y="{_HEIGHT - 8}" style="fill:{_COLOURS[number]}">{html.escape(name)}</text>')
    return "".join([*parts, "</svg>"])


def _step(alignment: Alignment) -> int:
    return alignment.found.step if alignment.found is not None else max((layer.step for layer in alignment.layers), default=0)


def _logs(alignment: Alignment) -> dict[str, list[float]]:
    layers = [layer for layer in alignment.layers if layer.step == _step(alignment)]
    return {
        "forward": [math.log10(max(min(layer.forward, 1e3), 1e-9)) for layer in layers],
        "backward": [math.log10(max(min(layer.backward, 1e3), 1e-9)) for layer in layers],
    }


def page(alignment: Alignment, lines: list[str], names: tuple[str, str]) -> str:
    """Return a self-contained HTML page."""
    step = _step(alignment)
    rows = "".join(
        f"<tr><td>{html.escape(layer.module)}</td><td>{layer.forward:.2g}</td><td>{layer.backward:.2g}</td></tr>"
        for layer in alignment.layers if layer.step == step
    )  # fmt: skip
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>mstorch compare</title><style>{_STYLE}</style><h1>mstorch compare</h1>"
        f"<pre>{html.escape(chr(10).join(lines))}</pre>{_chart(dict(zip(names, alignment.losses)), 'loss at each backward')}"
        f"{_chart(_logs(alignment), f'deviation of each layer in step {step}, powers of ten, in the order of the calls')}"
        f"<table><tr><th>layer</th><th>forward</th><th>backward</th></tr>{rows}</table></html>\n"
    )


def picture(alignment: Alignment, names: tuple[str, str], file: str) -> bool:
    """Draw both charts to a file; return False without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    figures: Any = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(figsize=(9, 7), layout="constrained")
    losses, layers = figure.subplots(2, 1)
    for number, (name, values) in enumerate(zip(names, alignment.losses)):
        losses.plot(values, "--" if number else "-", color=_COLOURS[number], label=name)
    losses.set_title("loss at each backward")
    losses.legend()
    for number, (name, values) in enumerate(_logs(alignment).items()):
        layers.plot(values, "--" if number else "-", color=_COLOURS[number], label=name)
    layers.set_title(f"deviation of each layer in step {_step(alignment)}, powers of ten")
    layers.legend()
    figure.savefig(file)
    return True
