"""Sweeps over torch's operator database that look at more than values: captures, second derivatives, errors.

    python -m tests.sweeps trace       # where an operator's forward reads tensors on the host while it is captured
    python -m tests.sweeps gradgrad    # gradgradcheck of what torch marks as twice differentiable
    python -m tests.sweeps gradgrad -k norm
    python -m tests.sweeps vmap        # operators mapped over two slices, against the loop over the slices
    python -m tests.sweeps forward     # tangents of forward mode, of what torch marks so, beside torch's
    python -m tests.sweeps complex     # the same of complex numbers
    python -m tests.sweeps errors      # samples that torch refuses: the type of the error and its key sentence

``tests/test_sweeps.py`` runs a part of this in the suite.
"""
from __future__ import annotations

import argparse
import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mstorch
from mstorch._src.backend import trace
from mstorch._src.core.storage import NativeBlock
from mstorch._src.core.tensor_base import value_of, wrap
from tests import batching, databases

# A sample with more numbers in all inputs is skipped: a small one represents it.
LARGEST = 200
SAMPLES = 3


def _tensors(value: Any, found: list[Any]) -> None:
    if isinstance(value, mstorch.Tensor):
        found.append(value)
    elif isinstance(value, dict):
        _tensors(list(value.values()), found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _tensors(item, found)


def _with(value: Any, replacements: dict[int, Any]) -> Any:
    """Return the value with tensors replaced, by identity."""
    if isinstance(value, mstorch.Tensor):
        return replacements.get(id(value), value)
    return databases._mapped(value, lambda item: _with(item, replacements))


def _samples(info: Any, kind: torch.dtype, needs_grad: bool) -> list[Any]:
    databases._seed()
    found = []
    for sample in info.sample_inputs("cpu", kind, requires_grad=needs_grad):
        whole = (sample.input, sample.args, sample.kwargs)
        size = sum(t.numel() for t in databases._flat(whole) if isinstance(t, torch.Tensor))
        if 0 < size <= LARGEST:
            found.append(sample)
        if len(found) == 4 * SAMPLES:
            break
    return found[:: max(1, len(found) // SAMPLES)][:SAMPLES]


def check_trace(info: Any) -> None:
    """Raise if the operator's forward reads values on the host while it is captured."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    function = databases._counterpart(info.name, info.op)
    for number, sample in enumerate(_samples(info, kind, False)):
        whole = databases.ours(((sample.input, *sample.args), sample.kwargs), [])
        tensors: list[Any] = []
        _tensors(whole, tensors)

        def forward(*raws: Any, whole: Any = whole, tensors: list[Any] = tensors) -> Any:
            with NativeBlock(captured=True):
                args, kwargs = _with(whole, {id(t): wrap(raw) for t, raw in zip(tensors, raws)})
                return function(*args, **kwargs)

        databases._seed()
        reads = trace.round_trips(forward, [value_of(t) for t in tensors])
        assert not reads, f"sample {number}: {reads[0]}"


def check_gradgrad(info: Any) -> None:
    """Raise unless gradgradcheck passes for float64 samples."""
    function = databases._counterpart(info.name, info.op)
    wrapper = info.gradcheck_wrapper
    if isinstance(wrapper, functools.partial) or wrapper.__closure__:
        raise databases.Missing(f"gradcheck wrapper of {info.name}")
    wrapped = databases._seeded if wrapper.__name__ == "wrapper_set_seed" else databases._counterpart(wrapper.__name__, wrapper)
    for _number, sample in enumerate(_samples(info, torch.float64, True)):
        leaves: list[Any] = []
        args, kwargs = databases.ours(((sample.input, *sample.args), sample.kwargs), leaves)
        process = sample.output_process_fn_grad
        if not leaves:
            continue

        def run(*values: Any, args: Any = args, kwargs: Any = kwargs, leaves: list[Any] = leaves, process: Any = process) -> Any:
            exchanged = {id(leaf): value for leaf, value in zip(leaves, values)}
            databases._seed()
            result = process(wrapped(function, *_with(args, exchanged), **_with(kwargs, exchanged)))
            results = result if isinstance(result, (tuple, list)) else (result,)
            return tuple(
                part for r in databases._flat(results) if isinstance(r, mstorch.Tensor)
                for part in ((mstorch.view_as_real(r),) if r.is_complex() else (r,)) if part.requires_grad or not leaves[0].requires_grad
            )  # fmt: skip

        if not any(r.requires_grad for r in run(*leaves)):
            continue
        mstorch.autograd.gradgradcheck(run, leaves, fast_mode=True, atol=1e-4, rtol=1e-3, nondet_tol=1e-9)


def _tangents(leaves: list[Any]) -> list[np.ndarray]:
    """Return a direction for each leaf, the same at each call."""
    generator = np.random.RandomState(3)
    found = []
    for leaf in leaves:
        shape = tuple(leaf.shape)
        drawn = generator.uniform(-1, 1, shape)
        if leaf.is_complex():
            drawn = drawn + 1j * generator.uniform(-1, 1, shape)
        found.append(np.asarray(drawn))
    return found


def _along(library: Any, leaves: list[Any], run: Callable[[dict[int, Any]], Any]) -> list[Any]:
    """Return the tangents of an operator's results in forward mode for the leaves' tangents from ``_tangents``."""
    forward_ad = library.autograd.forward_ad
    with forward_ad.dual_level():
        duals = {
            id(leaf): forward_ad.make_dual(leaf.detach(), library.tensor(tangent).to(leaf.dtype))
            for leaf, tangent in zip(leaves, _tangents(leaves))
        }
        databases._seed()
        return [
            (part.dtype, tuple(part.shape), forward_ad.unpack_dual(part).tangent)
            for part in databases._flat(run(duals)) if isinstance(part, library.Tensor)
        ]  # fmt: skip


def check_forward(info: Any, kind: torch.dtype = torch.float64) -> None:
    """Raise unless forward mode returns the same tangents as torch's."""
    function = databases._counterpart(info.name, info.op)
    wrapper = info.gradcheck_wrapper
    name = getattr(wrapper, "__name__", "")
    mine_wrapper = databases._seeded if name == "wrapper_set_seed" else _plain if "masked" in name else databases._counterpart("", wrapper)
    wrapper = _plain if "masked" in name else wrapper
    for number, sample in enumerate(_samples(info, kind, True)):
        theirs: list[Any] = []
        whole = databases.theirs(((sample.input, *sample.args), sample.kwargs), theirs)
        process = sample.output_process_fn_grad

        def want(duals: dict[int, Any], whole: Any = whole, process: Any = process) -> Any:
            args, kwargs = _exchanged(whole, duals)
            return process(wrapper(info.op, *args, **kwargs))

        wanted = _along(torch, theirs, want)
        ours: list[Any] = []
        mine = databases.ours(((sample.input, *sample.args), sample.kwargs), ours)

        def got(duals: dict[int, Any], mine: Any = mine, process: Any = process) -> Any:
            args, kwargs = _with(mine, duals)
            return process(mine_wrapper(function, *args, **kwargs))

        for (dtype, shape, slope), (_, own_shape, own) in zip(wanted, _along(mstorch, ours, got), strict=True):
            assert shape == own_shape, f"sample {number}: shape {shape} expected, {own_shape} given"
            if slope is None:
                assert own is None or not databases.values(own).any(), f"sample {number}: no tangent expected for {dtype}"
                continue
            if own is None and not databases.values(slope).any():
                continue  # the result depends on no input with a tangent
            assert own is not None, f"sample {number}: no tangent"
            assert str(own.dtype) == str(slope.dtype), f"sample {number}: {slope.dtype} expected, {own.dtype} given"
            np.testing.assert_allclose(
                databases.values(own), databases.values(slope), rtol=1e-4, atol=1e-5, err_msg=f"sample {number}"
            )


def _plain(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def _exchanged(value: Any, replacements: dict[int, Any]) -> Any:
    """Return a torch value with tensors replaced, by identity."""
    if isinstance(value, torch.Tensor):
        return replacements.get(id(value), value)
    return databases._mapped(value, lambda item: _exchanged(item, replacements))


def _mirrored(value: Any, storages: dict[int, Any]) -> Any:
    """Return a torch value as mstorch's; tensors that share a storage, or overlap themselves, do so here."""
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and value.device.type == "cpu" and not value.is_conj():
        flat = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())  # type: ignore[call-overload]
        if flat.numel() and value.dtype is not torch.bfloat16:
            base = storages.setdefault(value.untyped_storage().data_ptr(), mstorch.tensor(flat.numpy()))
            made = mstorch.as_strided(base, tuple(value.shape), value.stride(), value.storage_offset())
            return made.detach().clone().requires_grad_() if value.requires_grad else made
    if isinstance(value, (torch.Tensor, torch.dtype, torch.memory_format, torch.layout, torch.device, torch.nn.Module)):
        return databases.ours(value, [])
    return databases._mapped(value, lambda item: _mirrored(item, storages))


def check_error(info: Any, number: int) -> None:
    """Raise unless a sample that torch refuses raises torch's class of error, with the sentence that torch's own tests expect."""
    error = list(info.error_inputs_func(info, "cpu"))[number]
    sample = error.sample_input
    args, kwargs = _mirrored(((sample.input, *sample.args), sample.kwargs), {})
    function = databases._counterpart(info.name, info.op)
    try:
        got = function(*args, **kwargs)
    except databases.Missing:
        raise
    except Exception as mine:  # noqa: BLE001 - whatever is raised is what is compared
        assert isinstance(mine, error.error_type), (
            f"{error.error_type.__name__} ({error.error_regex[:80]}) expected, {type(mine).__name__} raised: {str(mine)[:80]}"
        )
        assert re.search(error.error_regex, str(mine)), f"words: {error.error_regex[:110]!r} expected, {str(mine)[:110]!r} given"
    else:
        raise AssertionError(f"{error.error_type.__name__} ({error.error_regex[:80]}) expected, a {type(got).__name__} returned")


def _error_items(info: Any, name: str) -> dict[str, Callable[[], None]]:
    if info.error_inputs_func is None:
        return {}
    count = len(list(info.error_inputs_func(info, "cpu")))
    return {f"{name} {number}": functools.partial(check_error, info, number) for number in range(count)}


def items(kind: str) -> dict[str, Callable[[], None]]:
    """Return the checks of a sweep by operator, in the database's order."""
    if kind == "vmap":
        return batching.items()
    found: dict[str, Callable[[], None]] = {}
    for name, info in databases.operators():
        if kind == "errors":
            found.update(_error_items(info, name))
        elif kind == "trace":
            found[name] = functools.partial(check_trace, info)
        elif kind in ("forward", "complex"):
            number = torch.float64 if kind == "forward" else torch.complex128
            if info.supports_forward_ad and info.supports_autograd and number in info.backward_dtypes:
                found[name] = functools.partial(check_forward, info, number)
        elif info.supports_gradgrad and info.supports_autograd and torch.float64 in info.backward_dtypes:
            found[name] = functools.partial(check_gradgrad, info)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=("trace", "gradgrad", "vmap", "forward", "complex", "errors"))
    parser.add_argument("-k", default="", help="only names that match this pattern")
    options = parser.parse_args()
    checks = items(options.kind)
    databases.print_share(options.kind, {name: check for name, check in checks.items() if re.search(options.k, name)})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main()
