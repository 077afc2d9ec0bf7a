"""torch.ops.npu: the operators with torch_npu 2.14's schemas, computed by this package's functions.

A function is composed of mstorch's operations, or is one with a row for the device: autograd, meta tensors,
transforms and graphs see those.
``schemas.txt`` has the signatures, which ``python -m tools.torch_npu_schemas`` reads from torch_npu's library; ``schemas_atb.txt`` has
those of the
ATB library, which is compiled when it is first used.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mstorch as torch

from ..._library import registry
from ..._src.core.schemas import Schema, parse

_SPACE = "npu"


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def write(input: Any, *args: Any, **kwargs: Any) -> Any:
        return input.copy_(function(input, *args, **kwargs))

    return write


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the form with ``out=``, which takes the results of the function."""

    def write(*args: Any, **kwargs: Any) -> Any:
        outs = [value for name, value in kwargs.items() if name in ("out", "output", "result")]
        results = function(*args, **{name: value for name, value in kwargs.items() if name not in ("out", "output", "result")})
        targets = list(outs[0]) if isinstance(outs[0], (list, tuple)) else outs
        for target, result in zip(targets, results if isinstance(results, tuple) else (results,)):
            target.resize_(result.shape)
            target.copy_(result)
        return tuple(targets) if isinstance(results, tuple) else targets[0]

    return write


def _kernel(schema: Schema, functions: dict[str, Callable[..., Any]]) -> Callable[..., Any] | None:
    """Return the function of an operator; in-place forms and forms with ``out=`` come from the plain ones. None if it is not here."""
    full = f"{schema.name}.{schema.overload}" if schema.overload else schema.name
    own = functions.get(full.replace(".", "__")) or (functions.get(schema.name) if schema.overload not in ("out", "output") else None)
    if own is not None:
        return own
    if schema.overload == "out" and schema.name in functions:
        return _written(functions[schema.name])
    plain = functions.get(schema.name.removesuffix("_"))
    return _in_place(plain) if schema.name.endswith("_") and plain is not None else None


def register(functions: dict[str, Callable[..., Any]]) -> list[str]:
    """Define the operators for which there are functions; return their names."""
    done = []
    here = Path(__file__).parent
    for text in [line for page in ("schemas.txt", "schemas_atb.txt") for line in (here / page).read_text("utf-8").splitlines()]:
        schema = parse(_SPACE, text)
        kernel = _kernel(schema, functions)
        if kernel is None:
            continue
        key = (_SPACE, schema.name, schema.overload)
        if key not in registry.operators:
            registry.add(schema)
        registry.add_kernel(key, "CompositeImplicitAutograd", kernel)
        if schema.name not in done:
            done.append(schema.name)
    return done


def public(names: list[str]) -> dict[str, Any]:
    """Return the operators by name, as torch_npu has them in its namespace."""
    return {name: getattr(torch.ops.npu, name) for name in names}


def functions_of(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions of modules that are operators; two underscores stand for an overload's dot."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }


__all__ = ["functions_of", "public", "register"]
