"""``python -m mstorch check``: each kernel of the device beside the host's, and a few steps of training; a report to send back."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import nn, optim
from .._backend import runtime
from .._backend.raw import NAME_OF_NP, NP_DTYPE, Raw, from_numpy
from .._backend.samples import samples
from .._backend.table import HOST, ROWS, kernel
from .._core import device as devices
from .._ops.from_data import tensor
from ..nn import functional
from ..random import manual_seed


def _raw(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return from_numpy(np.ascontiguousarray(value).reshape(value.shape).copy())
    return type(value)(map(_raw, value)) if isinstance(value, (list, tuple)) else value


def _flat(values: Any) -> Iterator[np.ndarray]:
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif isinstance(value, Raw):
            yield value.asnumpy()
        elif isinstance(value, (np.ndarray, np.generic)):
            yield np.asarray(value)


def difference(found: Any, wanted: Any) -> str:
    """How two results differ in shape, dtype, or by more than rounding; an empty text if they agree."""
    mine, theirs = list(_flat(found)), list(_flat(wanted))
    if [(item.shape, item.dtype) for item in mine] != [(item.shape, item.dtype) for item in theirs]:
        return "other shapes or dtypes: " + ", ".join(f"{item.dtype}{list(item.shape)}" for item in mine)
    for one, other in zip(mine, theirs):
        if not np.allclose(one, other, 1e-3, 1e-4, equal_nan=True):
            return f"other values, by {np.nanmax(np.abs(one.astype(np.complex128) - other)):.1g}"
    return ""


def row(op: str, args: list[Any]) -> str:
    """What a row of this device gives on its sample call: "equal", how it differs from the host's, or what it raises."""
    first = next(_flat(args))
    name = NAME_OF_NP[first.dtype]
    try:
        found = kernel(op)[name](*map(_raw, args))
        for array in _flat(found):
            array.sum()  # waits for the kernel
    except NotImplementedError as error:
        return f"absent: {str(error).splitlines()[0][:120]}"
    except Exception as error:  # noqa: BLE001 - whatever a kernel raises belongs into the report
        return f"raises {type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    if op not in HOST or (name not in HOST[op].dtypes and name not in HOST[op].via):
        return "ran, with nothing on the host to compare it with"
    try:
        differs = difference(found, kernel(op).host[name](*args))
    except NotImplementedError:
        return "ran, with nothing on the host to compare it with"
    return differs or "equal"


def losses(place: Any) -> list[float]:
    """The losses of five steps of a small network on a device."""
    manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)).to(place)
    steps = optim.AdamW(net.parameters(), lr=0.01)
    generator = np.random.RandomState(0)
    x, y = tensor(generator.randn(32, 8).astype(NP_DTYPE["float32"])).to(place), tensor(generator.randint(0, 3, 32)).to(place)
    found = []
    for _ in range(5):
        loss = functional.cross_entropy(net(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        found.append(round(loss.item(), 6))
    return found


def main() -> int:
    """Print the report; 1 if a kernel differs or raises, or training does."""
    for key, value in runtime.describe().items():
        print(f"{key}: {value}")
    if runtime.FAKE_DEVICE:
        print("the device is a stand-in: the CPU's memory plays it")
    here = devices.current()
    calls = samples()
    outcomes = {op: row(op, calls[op]) for op in sorted(ROWS) if op in calls}
    bad = {op: text for op, text in outcomes.items() if text.startswith(("raises", "other"))}
    equal = sum(text == "equal" for text in outcomes.values())
    absent = sum(text.startswith("absent") for text in outcomes.values())
    print(f"rows: {len(outcomes)} tried on {here}, {equal} equal to the host's, {len(bad)} differ or raise, {absent} absent")
    for op, text in outcomes.items():
        if text != "equal":
            print(f"  {op}: {text}")
    trained = losses(here), losses("cpu")
    alike = np.allclose(*trained, atol=1e-3)
    print(f"training on {here}: {trained[0]}, on cpu: {trained[1]}: {'alike' if alike else 'NOT ALIKE'}")
    return int(bool(bad) or not alike)
