"""The three most expensive lines of a script, and why."""
from __future__ import annotations

import linecache
from typing import Any

_MANY, _SMALL, _LONGEST = 300, 4096, 100


def advice(found: dict[str, Any], count: int = 3) -> list[str]:
    """Return two lines of text for each of the ``count`` most expensive source lines: the line's time, and the reason."""
    told: list[str] = []
    wall = max(found["wall"], 1e-9)
    for place, seconds in sorted(found["lines"].items(), key=lambda item: -item[1])[:count]:
        file, _, line = place.rpartition(":")
        told.append(f"  {seconds:.3f} s, {100 * seconds / wall:.0f} %  {place}  {linecache.getline(file, int(line)).strip()}")
        told.append(f"      {reason(found['why'].get(place, {}), seconds)}")
    return told


def reason(why: dict[str, float], seconds: float) -> str:
    """Return why a line is slow, judged by its counters."""
    calls = {name.removeprefix("calls of "): int(number) for name, number in why.items() if name.startswith("calls of ")}
    total = sum(calls.values())
    reads = int(why.get("reads of a device's values", 0))
    ups = int(why.get("copies to the device", 0))
    casts = int(why.get("conversions between dtypes", 0))
    if not total:
        return "no operation of torch is called here itself: Python, NumPy, or modules and backward that are called from here"
    most = max(calls, key=lambda name: calls[name])
    wide = sum(number for name, number in why.items() if name.startswith("float64 "))
    if reads and reads >= total / 2:
        return f"{reads} times the values of a device's tensor are read, which waits for all that was asked before: read less often"
    if ups and ups >= total / 4:
        return f"{ups} copies to the device: copy once, before the loop"
    if total >= _MANY and why.get("elements", 0) / total < _SMALL:
        return f"{total} calls ({most} …) of {why.get('elements', 0) / total:.0f} elements each: one call over all of them would do"
    if wide > total / 2:
        return f"{most} computes in float64: float32 takes half of the time or less"
    if casts >= total:
        return f"{casts} conversions between dtypes: give the operands one dtype before the loop"
    shown = next((name.removeprefix("first: ") for name in why if name.startswith(f"first: {most}(")), most)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    return f"{total} calls, {seconds / total * 1e3:.2f} ms each: the work of {shown}"
