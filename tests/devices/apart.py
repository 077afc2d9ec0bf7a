"""Each tensor argument of each operator of torch's database on the other device: ``python -m tests.devices.apart [-k TEXT]``.

It runs where the stand-in plays a device (``MSTORCH_FAKE_DEVICE=Ascend``). What torch says stands in ``recorded_places.json``, by operator, by the
shapes and dtypes of a call's tensors, by which of them was left on the CPU while all others are the device's (``2'``: as a number without dimensions),
and by where ``out=`` lay while the operands lay on the other: recorded of torch 2.11 on an NVIDIA H200, since this needs a device that torch computes on.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat, _mapped
from tests.known import SECTIONS

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_places.json").read_text())
_OF_PLACES = re.compile(r"device|Device|CPU [sS]calar|GuardImpl|FloatTensor|CUDA' backend")
"""Pattern of torch's errors for tensors on the wrong device."""


def _key(tensors: list[Any]) -> str:
    return " ".join(str(tuple(t.shape)).replace(" ", "") + str(t.dtype)[6:] for t in tensors)


def _placed(whole: Any, place: int, number: bool, far: str = "npu") -> Any:
    """Return a copy of a sample on a device, except for one tensor."""
    count = iter(range(10**6))

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return _mapped(value, change) if isinstance(value, (tuple, list, dict)) else databases.ours(value, [])
        one, own = databases.ours(value.detach(), []), next(count) == place
        if own and number:
            one = one.reshape(-1)[0].clone()
        return one if own else one.to(far)

    return change(whole)


def _outcome(function: Callable[..., Any], whole: Any) -> str:
    args, kwargs = whole
    databases._seed()
    try:
        function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - what it says is the finding
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return "ok"


def _calls(info: Any) -> Iterator[tuple[str, Callable[..., Any], Any, dict[str, int]]]:
    """Yield the calls of an operator: the recorded name, the function, a sample, and the expected counts."""
    kind = next((d for d in (torch.float32, torch.int64, torch.bool) if d in info.dtypes), None)
    if kind is None:
        return
    databases._seed()
    name = f"{info.name}:{info.variant_test_name}"
    forms = [(name, databases._counterpart(info.name, info.op))]
    if info.inplace_variant and name + "_" in RECORDED["rows"]:
        try:
            forms.append((name + "_", databases._counterpart(info.name + "_", info.inplace_variant)))
        except databases.Missing:
            pass
    rows = {key: dict(RECORDED["rows"].get(key, {})) for key, _ in forms}
    for sample in info.sample_inputs("cpu", kind):
        whole = ((sample.input, *sample.args), sample.kwargs)
        key = _key([item for item in _flat(whole) if isinstance(item, torch.Tensor)])
        for form, function in forms:
            if key in rows[form]:
                yield f"{form} {key}", function, whole, rows[form].pop(key)


def _differs(wanted: str, got: str) -> bool:
    if wanted == "ok":
        return got != "ok"
    if _OF_PLACES.search(wanted):
        return not got.startswith("RuntimeError") or not _OF_PLACES.search(got)
    return False


def check(info: Any) -> tuple[list[str], int]:
    """Return the calls that an operator computes and torch refuses, or the reverse, and the number of compared calls."""
    wrong, count = [], 0
    for title, function, whole, recorded in _calls(info):
        for place, told in recorded.items():
            wanted = RECORDED["texts"][told]
            if place.startswith("out"):
                near, far = ("npu", "cpu") if place == "out=cpu" else ("cpu", "npu")
                args, kwargs = _placed(whole, -1, False, near)
                databases._seed()
                try:
                    made = function(*args, **kwargs)
                except Exception:  # noqa: BLE001 - what cannot be computed on the device has no place
                    continue
                args, kwargs = _placed(whole, -1, False, near)
                got = _outcome(function, (args, {**kwargs, "out": _mapped_out(made, far)}))
            else:
                number = place.endswith("'")
                if _outcome(function, _placed(whole, -1, False)) != "ok":
                    continue
                got = _outcome(function, _placed(whole, int(place.rstrip("'")), number))
            count += 1
            if _differs(wanted, got):
                wrong.append(f"{title} {place}: {wanted[:110]!r} expected, {got[:150]!r} given")
    return wrong, count


def _mapped_out(value: Any, far: str) -> Any:
    if isinstance(value, mstorch.Tensor):
        return value.to(far)
    return tuple(_mapped_out(item, far) for item in value) if isinstance(value, (tuple, list)) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only names that contain this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    known = {name for names in SECTIONS["apart"].values() for name in names}
    wrong, calls = [], 0
    for name, info in databases.operators():
        if options.k in name:
            try:
                lines, count = check(info)
            except databases.Missing:
                continue
            calls += count
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)
            if bool(lines) is not (name in known):
                wrong.append(name)
    print(f"{calls} calls; operators that differ and are not known to, or are known to and do not:")
    print(json.dumps(wrong))


if __name__ == "__main__":
    main()
