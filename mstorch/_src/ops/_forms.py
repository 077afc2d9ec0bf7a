"""Alternative call forms that torch accepts: aliases of parameters, sizes as a keyword, argument orders of older versions.

Functions declare theirs with ``_operation.operation``, and those with a ``dtype`` accept Python's types; ``inspect.signature`` shows the
aliases too.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..backend.errors import wrong_type
from ..core.call_forms import NUMPY_NAMES, in_older_orders
from ..core.dtype import PYTHON_TYPES, dtype
from ..core.overriding import without_keywords
from ..core.tensor_base import TensorBase
from ..core.warned import warn_once


class Forms(NamedTuple):
    """Alternative call forms of an operation.

    ``names``: aliases of parameters. An alias of several parameters stands for the first of them that is not given yet. ``star``: the
    keyword for ``*sizes``. ``old``: argument orders of older versions."""

    names: dict[str, Any] = {}
    star: str | None = None
    old: tuple[tuple[str, ...], ...] = ()


def old_sum(*rest: str) -> tuple[tuple[str, ...], ...]:
    """Return the deprecated argument orders of ``beta * input + alpha * product``, of the function and of the method; ``rest`` are the
    factors."""
    return (
        ("beta", "input", "alpha", *rest), ("beta", "input", *rest), ("input", "beta", "alpha", *rest), ("input", "beta", *rest),
    )  # fmt: skip


SELF = Forms({"self": "input"})
SECTIONS = Forms({"sections": "indices_or_sections", "indices": "indices_or_sections"})
ALPHA = Forms(old=(("input", "alpha", "other"),))
VALUE = Forms(old=(("input", "value", "tensor1", "tensor2"),))
SIZE = Forms(star="size")

def accepting(function: Callable[..., Any], forms: Forms) -> Callable[..., Any]:
    """Wrap a function to accept these call forms."""
    shown = inspect.signature(function)
    places = [p.name for p in shown.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    star = next((p.name for p in shown.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    limit = len(places)
    names, old = forms.names, forms.old
    bare = without_keywords(function)

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        if len(args) > limit and old:
            args, kwargs = _in_order(function.__name__, args, kwargs, old)
        elif kwargs:
            args, kwargs = _plain(args, kwargs)
        else:
            return bare(*args)
        return function(*args, **kwargs)

    def _plain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if kwargs.get("dtype").__class__ is type:
            kwargs["dtype"] = PYTHON_TYPES.get(kwargs["dtype"], kwargs["dtype"])
        for second in sorted(names.keys() & kwargs.keys()):
            first = names[second]
            if first.__class__ is tuple:
                first = next((name for name in first if name not in kwargs and name not in places[: len(args)]), first[-1])
            # ``randint_like(high=5)``: one of the function's own names replaces another that is not given.
            if first not in kwargs and (second not in places or first not in places[: len(args)]):
                kwargs[first] = kwargs.pop(second)
        if forms.star in kwargs and (star is not None):
            before = [kwargs.pop(place) for place in places[len(args) :] if place in kwargs]
            args = (*args, *before, kwargs.pop(forms.star))
        return args, kwargs

    if old:
        in_older_orders.add(function.__name__)
        taking.in_place = lambda name, args, kwargs: (  # type: ignore[attr-defined]
            _in_order(name, args, kwargs, old) if len(args) > limit else (args, kwargs)
        )
    taking.without_forms = function  # type: ignore[attr-defined]
    if limit > 1 or not old:
        taking.for_keywords = taking  # type: ignore[attr-defined]
    taking.__signature__ = _signature(shown, forms)  # type: ignore[attr-defined]
    return taking


def _in_order(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], orders: tuple[tuple[str, ...], ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the tensor, and by name the other arguments, which were given in an older version's order."""
    for order in orders:
        if len(order) == len(args) and isinstance(args[order.index("input")], TensorBase):
            if order != ("input", "other", "alpha"):
                warn_once(_deprecated(name, order), key="overload")
            named = dict(zip(order, args))
            return (named.pop("input"),), {**kwargs, **named}
    raise TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")


_OF_NUMBERS = ("beta", "alpha", "value")


def _deprecated(name: str, order: tuple[str, ...]) -> str:
    """Return torch's warning for a deprecated order of arguments.

    torch lists the signature of the method, without ``input``, for in-place forms and for orders that begin with ``input`` and contain
    ``beta``; else the function's signature."""
    method = order[0] == "input" and ("beta" in order or name.endswith("_"))
    numbers = ("beta", "alpha") if "beta" in order else tuple(part for part in order if part in _OF_NUMBERS)
    out = "" if method else ", *, Tensor out = None"

    def typed(parts: Iterable[str]) -> str:
        return ", ".join(f"{'Number' if part in _OF_NUMBERS else 'Tensor'} {part}" for part in parts if part != "input" or not method)

    tensors = typed(part for part in order if part not in _OF_NUMBERS)
    if "input" in order and not method:
        tensors = "Tensor input, " + typed(part for part in order if part not in (*_OF_NUMBERS, "input"))
    defaults = ", ".join(f"Number {part} = 1" for part in numbers)
    ends = [f", *, {defaults}" + ("" if method else ", Tensor out = None")]
    if not method and name in ("addmm", "baddbmm"):
        ends.append(f", torch.dtype out_dtype{ends[0]}")
    instead = "".join(f"\n\t{name}({tensors}{end})" for end in ends)
    given = f"{name}({typed(order)}{out})"
    return f"This overload of {name} is deprecated:\n\t{given}\nConsider using one of the following signatures instead:{instead}"


def without_out_dtype(name: str, out_dtype: dtype | None) -> None:
    """Raise NotImplementedError for ``out_dtype``, which torch supports on GPUs only; raise TypeError if it is a Tensor."""
    if isinstance(out_dtype, TensorBase):
        raise TypeError(f"{name}() received an invalid combination of arguments - got a Tensor in the place of a dtype")
    if out_dtype is not None:
        raise NotImplementedError(f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend.")


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required


def _signature(shown: inspect.Signature, forms: Forms) -> inspect.Signature:
    """Return the function's signature with the aliases as keywords, and optional parameters for the old orders."""
    aliased = {name for names in forms.names.values() for name in (names if isinstance(names, tuple) else (names,))}
    parameters = _optional_from(list(shown.parameters.values()), aliased | ({"size"} if forms.star else set()), forms.star)
    if not (forms.names or forms.star or forms.old):
        return shown
    named = {parameter.name for parameter in parameters}
    if forms.old and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        place = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        parameters.insert(place, inspect.Parameter("old", inspect.Parameter.VAR_POSITIONAL))
    more = [name for name in (*forms.names, *([forms.star] if forms.star else ())) if name not in named]
    ends = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more]
    return shown.replace(parameters=parameters + ends)


def _optional_from(parameters: list[inspect.Parameter], replaced: set[str], star: str | None) -> list[inspect.Parameter]:
    """Return the parameters with a default from the first on that an alias may give in its place; the star's own is called otherwise."""
    required, optional, changed = _Required(), False, []
    for parameter in parameters:
        optional = optional or parameter.name in replaced
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and optional and parameter.default is parameter.empty:
            parameter = parameter.replace(default=required)
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name == star:
            parameter = parameter.replace(name=f"{parameter.name}s")
        changed.append(parameter)
    return changed


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to accept NumPy's keywords, as torch does: ``axis`` for ``dim``, ``keepdims``."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    aliases = {alias: target for target in own for alias in NUMPY_NAMES.get(target, ()) if alias not in own}
    takes_one = "tuple" not in str(inspect.unwrap(function).__annotations__.get("dim"))

    @functools.wraps(function)
    def renaming(*args: Any, **kwargs: Any) -> Any:
        for alias in aliases.keys() & kwargs.keys() if kwargs else ():
            kwargs[aliases[alias]] = kwargs.pop(alias)
        dim = kwargs.get("dim") if takes_one else None
        if isinstance(dim, TensorBase):  # without the name, a tensor is the other operand of max and min
            if dim._ms_shape or dim._ms_dtype.category != 1:
                raise wrong_type(f"{function.__name__}(): argument 'dim' must be int, not Tensor")
            kwargs["dim"] = int(dim)
        return function(*args, **kwargs)

    renaming.for_keywords = renaming  # type: ignore[attr-defined]
    return renaming
