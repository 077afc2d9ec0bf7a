"""torch's operator database under ``vmap``: each operator is compared with the loop over the slices.

    python -m tests.sweeps vmap            # all operators that torch's vmap takes
    python -m tests.batching -k conv       # some of them, with the functions that were computed slice by slice
"""
from __future__ import annotations

import argparse
import functools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from mstorch.func._batched_loop import loops
from tests import databases
from tests.against_torch import values

SAMPLES = 4
LARGEST = 400
_RANDOM = re.compile(r"dropout|rrelu|bernoulli|multinomial|normal|uniform|rand|poisson|exponential|cauchy|geometric|gumbel|lowrank|fractional|lobpcg")


def _tensors(value: Any) -> list[Any]:
    return [item for item in databases._flat(value) if isinstance(item, (torch.Tensor, mstorch.Tensor))]


def _put(value: Any, tensors: Iterator[Any]) -> Any:
    if isinstance(value, (torch.Tensor, mstorch.Tensor)):
        return next(tensors)
    return databases._mapped(value, lambda item: _put(item, tensors))


def _other(tensor: torch.Tensor) -> torch.Tensor:
    """Return other valid values for a second slice."""
    tensor = tensor.detach()
    if tensor.dim():
        return tensor.flip(tuple(range(tensor.dim())))
    return tensor * 0.9 if tensor.dtype.is_floating_point else tensor.clone()


def _samples(info: Any, kind: torch.dtype) -> list[Any]:
    databases._seed()
    found = []
    for sample in info.sample_inputs("cpu", kind, requires_grad=False):
        whole = (sample.input, sample.args, sample.kwargs)
        size = sum(t.numel() for t in _tensors(whole))
        if 0 < size <= LARGEST and not any(t.layout is not torch.strided for t in _tensors(whole)):
            found.append(sample)
        if len(found) == 6 * SAMPLES:
            break
    return found[:: max(1, len(found) // SAMPLES)][:SAMPLES]


def _ways(count: int) -> list[tuple[int | None, ...]]:
    """Return combinations of mapped dimensions, one dimension or None per input."""
    ways: list[tuple[int | None, ...]] = [(0,) * count, (-1,) * count]
    if count > 1:
        ways += [(0, *(None,) * (count - 1)), (None, *(0,) * (count - 1))]
    return ways


def _mapped(library: Any, function: Callable[..., Any], whole: Any, tensors: list[Any], dims: tuple[Any, ...]) -> Any:
    def run(*parts: Any) -> Any:
        args, kwargs = _put(whole, iter(parts))
        return function(*args, **kwargs)

    given = [t if dim is None else library.stack(t, dim) for t, dim in zip(tensors, dims)]
    return library.vmap(run, in_dims=dims)(*given)


def _looped(function: Callable[..., Any], whole: Any, tensors: list[Any], dims: tuple[Any, ...]) -> list[Any]:
    results = []
    for index in range(2):
        args, kwargs = _put(whole, iter([t if dim is None else t[index].clone() for t, dim in zip(tensors, dims)]))
        found = function(*args, **kwargs)
        results.append([found] if isinstance(found, mstorch.Tensor) else list(databases._flat(found)))
    return [mstorch.stack(list(parts)) if isinstance(parts[0], mstorch.Tensor) else parts[0] for parts in zip(*results)]


def _refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever torch says
        return str(error) or type(error).__name__
    return ""


def check(info: Any) -> None:
    """Raise unless ``vmap`` of the operator equals the loop wherever torch supports ``vmap``."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    function = databases._counterpart(info.name, info.op)
    shapes_only = bool(databases._SHAPES_ONLY.match(info.name))
    follows = bool(info.supports_autograd) and kind is torch.float32 and not shapes_only and not info.name.endswith("_")
    for number, sample in enumerate(_samples(info, kind)):
        whole = ((sample.input, *sample.args), sample.kwargs)
        inputs = _tensors(whole)
        mine = databases.ours(whole, [])
        pairs = [[t.detach(), _other(t)] for t in inputs]
        for dims in _ways(len(inputs)):
            if "as_strided" in info.name and -1 in dims:
                continue  # its window reads memory that has another layout in the loop
            theirs = [p[0] if dim is None else p for p, dim in zip(pairs, dims)]
            own = [databases.ours(t, []) for t in theirs]
            leaves = [t.requires_grad_() for t in databases._flat(own) if follows and t.is_floating_point()]
            what = f"sample {number}, in_dims {dims}"
            try:
                want = _looped(function, mine, own, dims)
            except Exception:  # noqa: BLE001 - the pair is not fit for the operator
                continue
            refused = _refused(lambda theirs=theirs, dims=dims, whole=whole: _mapped(torch, info.op, whole, theirs, dims))
            try:
                got = _mapped(mstorch, function, mine, own, dims)
            except Exception as error:
                if refused:
                    continue
                raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
            got = [got] if isinstance(got, mstorch.Tensor) else list(databases._flat(got))
            assert len(want) == len(got), f"{what}: {len(want)} results expected, {len(got)} given"
            for w, g in zip(want, got):
                if not isinstance(w, mstorch.Tensor):
                    continue
                assert tuple(w.shape) == tuple(g.shape), f"{what}: shape {tuple(w.shape)} expected, {tuple(g.shape)} given"
                assert w.dtype is g.dtype, f"{what}: {w.dtype} expected, {g.dtype} given"
                if not shapes_only:
                    np.testing.assert_allclose(values(g), values(w), rtol=1e-4, atol=1e-5, err_msg=what)
            for w, g in zip(_gradients(want, leaves), _gradients(got, leaves)):
                assert w is None or g is not None or not values(w).any(), f"{what}: a gradient expected"
                if w is not None and g is not None:
                    np.testing.assert_allclose(values(g), values(w), rtol=1e-3, atol=5e-4, err_msg=f"{what}: gradients")


def _gradients(results: list[Any], leaves: list[Any]) -> tuple[Any, ...]:
    """Return the gradients of a weighted sum of the results."""
    loss = databases._loss(results, mstorch)
    if loss is None or not leaves or not loss.requires_grad:
        return ()
    return mstorch.autograd.grad(loss, leaves, allow_unused=True)


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator."""
    return {name: functools.partial(check, info) for name, info in databases.operators() if not _RANDOM.search(name)}


def main() -> None:
    """Print the share of operators that agree, and those that were computed slice by slice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only names that match this pattern")
    options = parser.parse_args()
    checks = {name: one for name, one in items().items() if re.search(options.k, name)}
    databases.print_share("vmap", checks)
    print(f"{len(loops)} functions were computed slice by slice:", " ".join(sorted(loops)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main()
