"""Other ways to write a call that torch takes: second names of parameters, sizes as a keyword, orders of older versions.

Each family ends with ``accept_forms(globals())``, before autocast wraps it, which gives the functions named in the table here
these forms, and those with a ``dtype`` Python's types; what ``inspect.signature`` shows of them holds the second names too.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core.dtype import bool_, complex128, dtype, float64, int64
from .._core.tensor_base import TensorBase
from .._core.warned import warn_once


class Forms(NamedTuple):
    """Second names (``names``: second → first, or several of which the first free one is meant), the keyword for what stands
    as ``*sizes``, and orders of older versions.
    """

    names: dict[str, Any] = {}
    star: str | None = None
    old: tuple[tuple[str, ...], ...] = ()


def old_sum(*rest: str) -> tuple[tuple[str, ...], ...]:
    """The orders of ``beta * input + alpha * product``, as function and as method."""
    return (
        ("beta", "input", "alpha", *rest), ("beta", "input", *rest), ("input", "beta", "alpha", *rest), ("input", "beta", *rest),
    )  # fmt: skip


# Python's types stand for the dtypes that hold them.
PYTHON_TYPES: dict[type, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}

_SELF = Forms({"self": "input"})
_SECTIONS = Forms({"sections": "indices_or_sections", "indices": "indices_or_sections"})
_ALPHA = Forms(old=(("input", "alpha", "other"),))
_VALUE = Forms(old=(("input", "value", "tensor1", "tensor2"),))
_SIZE = Forms(star="size")

FORMS: dict[str, Forms] = {
    **dict.fromkeys(
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bucketize float_power pow remainder where "
        "xlogy".split(),
        _SELF,
    ),
    **dict.fromkeys(["dsplit", "hsplit", "vsplit"], _SECTIONS),
    **dict.fromkeys("empty ones rand randn zeros new_empty new_ones new_zeros".split(), _SIZE),
    **dict.fromkeys("expand sum_to_size resize_".split(), _SIZE),
    "add": _ALPHA, "sub": _ALPHA, "addcdiv": _VALUE, "addcmul": _VALUE,
    "subtract": Forms(old=(("input", "other", "alpha"),)), "rsub": Forms(old=(("input", "other", "alpha"),)),
    "addmm": Forms(old=old_sum("mat1", "mat2")), "addbmm": Forms(old=old_sum("batch1", "batch2")),
    "baddbmm": Forms(old=old_sum("batch1", "batch2")), "addmv": Forms(old=old_sum("mat", "vec")),
    "addr": Forms(old=old_sum("vec1", "vec2")),
    "permute": Forms(star="dims"), "repeat": Forms(star="repeats"), "reshape": Forms(star="shape"),
    "view": Forms({"dtype": "size"}, "size"),
    "broadcast_to": Forms({"shape": "size"}), "copy_": Forms({"other": "src"}),
    "cholesky_inverse": Forms({"input": "L"}), "cholesky_solve": Forms({"input": "B", "input2": "L"}),
    "det": Forms({"input": "A"}), "inverse": Forms({"input": "A"}), "matrix_exp": Forms({"input": "A"}),
    "lu_solve": Forms({"input": "b"}), "orgqr": Forms({"input": "A", "input2": "tau"}),
    "ormqr": Forms({"input2": "tau", "input3": "other"}), "triangular_solve": Forms({"input": "b"}),
    "dequantize": Forms({"input": "tensor", "tensors": "tensor"}), "isin": Forms({"element": "elements", "test_element": "test_elements"}),
    "result_type": Forms({
        "tensor": ("tensor1", "tensor2"), "other": "tensor2", "scalar": "tensor1", "scalar1": "tensor1", "scalar2": "tensor2",
    }),
    "searchsorted": Forms({"self": "input"}), "randint_like": Forms({"high": "low"}),
    "tensor_split": Forms({**_SECTIONS.names, "tensor_indices_or_sections": "indices_or_sections"}),
    "conj_physical_": Forms({"input": "self"}), "index_put_": Forms({"input": "self"}), "resize_as_": Forms({"input": "self"}),
    "repeat_interleave": Forms({"repeats": "input"}), "transpose": Forms({"axis0": "dim0", "axis1": "dim1"}), "smm": Forms({"mat2": "mat"}),
    "split_copy": Forms({"split_size": "split_size_or_sections"}),
}  # fmt: skip


def accept_forms(namespace: dict[str, Any]) -> None:
    """Give the functions of a module the forms that the table lists for them."""
    own = namespace["__name__"]
    for name in FORMS.keys() | set(namespace.get("FUNCTIONS", ())) | set(namespace.get("METHODS", ())):
        function = namespace.get(name)
        if callable(function) and getattr(function, "__module__", None) == own:
            if name in FORMS or "dtype" in inspect.signature(function).parameters:
                namespace[name] = accepting(function, FORMS.get(name, Forms()))


def accepting(function: Callable[..., Any], forms: Forms) -> Callable[..., Any]:
    """The function, which takes these forms too."""
    shown = inspect.signature(function)
    places = [p.name for p in shown.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    star = next((p.name for p in shown.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    limit = len(places)
    names, old = forms.names, forms.old

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        if len(args) > limit and old:
            kwargs.update(_in_order(function.__name__, args, old))
            args = ()
        elif kwargs:
            args, kwargs = _plain(args, kwargs)
        return function(*args, **kwargs)

    def _plain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if kwargs.get("dtype").__class__ is type:
            kwargs["dtype"] = PYTHON_TYPES.get(kwargs["dtype"], kwargs["dtype"])
        for second in sorted(names.keys() & kwargs.keys()):
            first = names[second]
            if first.__class__ is tuple:
                first = next((name for name in first if name not in kwargs and name not in places[: len(args)]), first[-1])
            # ``randint_like(high=5)``: a name of the function's own that stands for another where that is not given.
            if first not in kwargs and (second not in places or first not in places[: len(args)]):
                kwargs[first] = kwargs.pop(second)
        if forms.star in kwargs and (star is not None):
            before = [kwargs.pop(place) for place in places[len(args) :] if place in kwargs]
            args = (*args, *before, kwargs.pop(forms.star))
        return args, kwargs

    taking.without_forms = function  # type: ignore[attr-defined]
    if limit > 1 or not old:
        taking.for_keywords = taking  # type: ignore[attr-defined]
    taking.__signature__ = _signature(shown, forms)  # type: ignore[attr-defined]
    return taking


def _in_order(name: str, args: tuple[Any, ...], orders: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """Arguments in the order of an older version, by name."""
    for order in orders:
        if len(order) == len(args) and isinstance(args[order.index("input")], TensorBase):
            if order != ("input", "other", "alpha"):
                warn_once(f"This overload of {name} is deprecated:\n\t{name}({', '.join(order)})", key="overload")
            return dict(zip(order, args))
    raise TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")


def without_out_dtype(name: str, out_dtype: Any) -> None:
    """torch takes the dtype of a product on GPUs only; here and on its CPU there is no such kernel."""
    if isinstance(out_dtype, TensorBase):
        raise TypeError(f"{name}() received an invalid combination of arguments - got a Tensor in the place of a dtype")
    if out_dtype is not None:
        raise NotImplementedError(f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend.")


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required


def _signature(shown: inspect.Signature, forms: Forms) -> inspect.Signature:
    """The function's signature with the second names as keywords, and room for the old orders."""
    required = _Required()
    meant = (names if isinstance(names, tuple) else (names,) for names in forms.names.values())
    replaced = {name for names in meant for name in names} | ({"size"} if forms.star else set())
    parameters = []
    optional = False
    for parameter in shown.parameters.values():
        optional = optional or parameter.name in replaced
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and optional and parameter.default is parameter.empty:
            parameter = parameter.replace(default=required)
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name == forms.star:
            parameter = parameter.replace(name=f"{parameter.name}s")
        parameters.append(parameter)
    own = {parameter.name for parameter in parameters}
    if forms.old and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        place = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        parameters.insert(place, inspect.Parameter("old", inspect.Parameter.VAR_POSITIONAL))
    if not (forms.names or forms.star or forms.old):
        return shown
    more = [*forms.names, *([forms.star] if forms.star else [])]
    ends = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more if name not in own]
    return shown.replace(parameters=parameters + ends)
