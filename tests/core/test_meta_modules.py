"""The modules of torch's database on the meta device: each can be constructed, and returns torch's shapes and dtypes."""
from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import pytest
import torch
from torch.testing._internal.common_modules import module_db

import mstorch
from tests.databases import _mapped, ours

pytestmark = pytest.mark.sweep

SAMPLES = 4


def _onto_meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, (torch.Tensor, mstorch.Tensor)) else _mapped(value, _onto_meta)


def _functions(value: Any) -> Any:
    """Return torch's functions among arguments as mstorch's."""
    if inspect.isroutine(value):
        return getattr(mstorch.nn.functional, value.__name__)
    return _mapped(value, _functions)


def _shapes(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, mstorch.Tensor)):
        return tuple(value.shape), str(value.dtype)
    if isinstance(value, (list, tuple)):
        return [_shapes(item) for item in value]
    return {key: _shapes(item) for key, item in value.items()} if isinstance(value, dict) else type(value).__name__


def _counterpart(cls: type) -> Any:
    return getattr(mstorch.nn, cls.__name__, None) or getattr(importlib.import_module(cls.__module__.replace("torch", "mstorch", 1)), cls.__name__)


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.module_cls.__name__)
def test_shapes_on_meta(info: Any) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
    compared = 0
    for sample in samples:
        built, given = sample.constructor_input, sample.forward_input
        args, kwargs = (list(given.args), dict(given.kwargs)) if given else ([], {})
        try:
            module = info.module_cls(*built.args, **built.kwargs)
            module(*args, **kwargs)  # lazy modules infer their sizes
            want = _shapes(module.to("meta")(*_onto_meta(args), **_onto_meta(kwargs)))
        except (RuntimeError, NotImplementedError):  # torch reads values here, or rejects the sample
            continue
        mine = _counterpart(info.module_cls)(*_functions(ours(list(built.args), [])), **_functions(ours(dict(built.kwargs), [])))
        mine(*ours(args, []), **ours(kwargs, []))
        mine.to("meta")
        assert _shapes(mine(*_onto_meta(ours(args, [])), **_onto_meta(ours(kwargs, [])))) == want
        compared += 1
        if compared == SAMPLES:
            break
    if not compared:
        pytest.skip("torch gives no sample's shapes on meta")
