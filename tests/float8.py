"""torch's operator database in dtypes of eight bits: which operators take them, with which bits, and what torch says of the others.

    python -m tests.float8               # every operator, in torch.float8_e4m3fn; -d float8_e5m2 for another, -k TEXT for some

An operator passes when each of its samples gives torch's bytes or numbers, or torch's type of error, and where torch's kernel refuses
the dtype, its name. ``tests/core/test_float8.py`` runs it in the suite.
"""
from __future__ import annotations

import argparse
import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases

KINDS = "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
SAMPLES = 6
_RANDOM = re.compile(r"^(empty.*|new_empty.*|resize_|resize_as_|randn|randint.*|.*_like|svd|linalg\.(svd|cholesky|ldl_factor|eig).*)")
_KERNEL = re.compile(r"^\"([^\"]+)\" not implemented for 'Float8_")


def _in_codes(value: Any, kind: torch.dtype) -> Any:
    """Return arguments with single precision converted to a float8 dtype."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(kind) if value.dtype is torch.float32 and value.layout is torch.strided else value
    if type(value) in (list, tuple):
        return type(value)(_in_codes(item, kind) for item in value)
    return {key: _in_codes(item, kind) for key, item in value.items()} if isinstance(value, dict) else value


def _ours(value: Any, kind: torch.dtype) -> Any:
    """Return torch's argument as mstorch's; float8 codes are copied as bytes, in the same memory order."""
    if isinstance(value, torch.Tensor) and value.dtype is kind:
        made = mstorch.empty_strided(tuple(value.shape), value.stride(), dtype=getattr(mstorch, str(kind)[6:]))
        made.view(mstorch.uint8).copy_(mstorch.from_numpy(value.contiguous().view(torch.uint8).numpy()))
        return made
    if type(value) in (list, tuple):
        return type(value)(_ours(item, kind) for item in value)
    if isinstance(value, dict):
        return {key: _ours(item, kind) for key, item in value.items()}
    return databases.ours(value, [])


def _shown(value: Any) -> Any:
    """Return a result in plain values: for tensors the shape, the dtype and the numbers, for float8 codes the bytes."""
    if isinstance(value, (torch.Tensor, mstorch.Tensor)):
        library = torch if isinstance(value, torch.Tensor) else mstorch
        value = value.detach()
        name = str(value.dtype)[6:]
        bits: Any = value.view(library.uint8) if name in KINDS and value.dim() else value  # type: ignore[attr-defined]
        if name not in KINDS and (value.is_floating_point() or value.is_complex()):
            bits = value.to(library.complex128 if value.is_complex() else library.float64)  # type: ignore[attr-defined]
        return name, tuple(value.shape), str(bits.tolist())
    if isinstance(value, (list, tuple)):
        return tuple(map(_shown, value))
    return value


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _flat(item)]
    return [value] if isinstance(value, torch.Tensor) and value.is_floating_point() else []


def _close(want: Any, got: Any) -> bool:
    """Return whether results are equal: codes bit by bit, numbers of other dtypes up to rounding."""
    if not isinstance(want, tuple) or not want or not isinstance(want[0], str):
        return bool(want == got) or isinstance(want, tuple) and isinstance(got, tuple) and len(want) == len(got) and all(map(_close, want, got))
    if want == got or want[:2] != got[:2] or want[0] not in ("float32", "float64", "complex64", "complex128"):
        return bool(want == got)
    numbers = (np.array(ast.literal_eval(text.replace("nan", "1e999").replace("inf", "1e999"))) for text in (want[2], got[2]))
    return bool(np.allclose(*numbers, rtol=1e-5, atol=1e-6))


def _done(call: Callable[[], Any]) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", _shown(call())
        except databases.Missing:
            raise
        except Exception as error:  # noqa: BLE001  # its class is what is compared
            kernel = _KERNEL.match(str(error))
            return f"{type(error).__name__}", kernel[1] if kernel else ""


def differences(op: Any, name: str) -> tuple[list[str], int, int]:
    """Return the differences on an operator's samples in a dtype, the number of samples, and the number for which torch names another
    kernel."""
    kind = getattr(torch, name)
    found: list[str] = []
    tried = renamed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # memory layouts of samples
        samples = list(op.sample_inputs("cpu", torch.float32))[:SAMPLES]
    for sample in samples:
        if any(tensor.numel() < 2 for tensor in _flat((sample.input, sample.args))):
            continue  # some kernels of torch ignore the dtype of tensors with no or one element
        given = _in_codes((sample.input, tuple(sample.args), dict(sample.kwargs)), kind)
        try:
            mine = _ours(given, kind)
            function = databases._counterpart(op.name, op.op)
        except databases.Missing:
            return [], 0, 0
        torch.manual_seed(0), mstorch.manual_seed(0)
        want = _done(lambda: op.op(given[0], *given[1], **given[2]))  # called at once
        got = _done(lambda: function(mine[0], *mine[1], **mine[2]))
        tried += 1
        if want[0] != got[0]:
            found.append(f"{want[0]} {want[1]!s:.60} expected, {got[0]} {got[1]!s:.60} given")
        elif want[0] == "value" and not _close(want[1], got[1]) and not _RANDOM.match(op.name):
            found.append(f"{want[1]!s:.150} expected, {got[1]!s:.150} given")
        elif want[0] != "value" and want[1] and want[1] != got[1]:
            renamed += 1
    return found, tried, renamed


def main() -> None:
    """Print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", default="float8_e4m3fn")
    parser.add_argument("-k", default="")
    options = parser.parse_args()
    total = failed = names = 0
    for label, op in databases.operators():
        if options.k not in label:
            continue
        found, tried, renamed = differences(op, options.d)
        total, failed, names = total + tried, failed + len(found), names + renamed
        if found or renamed:
            print(label, f"{len(found)} of {tried} differ, {renamed} with another name", *found[:2], sep="\n    ")
    print(f"{options.d}: {total} samples, {failed} differ, {names} name another kernel")


if __name__ == "__main__":
    main()
