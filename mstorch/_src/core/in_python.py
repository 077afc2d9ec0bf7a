"""Functions that torch writes in Python: unlike C functions they bind as methods, and pass on their arguments in a fixed form.

``F.layer_norm(x, 8, w)`` reaches ``__torch_function__`` and torch.fx graphs as ``layer_norm(x, 8, weight=w, bias=None, eps=1e-05)``:
parameters without default are positional, those with default are keywords, and none is left out. Functions written in C pass on the call
unchanged.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .public_names import IN_PYTHON

Function = Callable[..., Any]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]  # (public name, or "" for the function's own name, args, kwargs)
Handed = Callable[[tuple[Any, ...], dict[str, Any]], Call]

_PLACES = {"functional": ""}  # torch.functional has the same names

# Parameters that may be given by keyword, although they have no default.
_BY_KEYWORD = {"unravel_index": frozenset(("shape",))}
# Parameters that torch's Python function does not pass on as long as they have their default.
_LEFT_OUT = {"l1_loss": "weight", "chain_matmul": "out", "dim_order": "ambiguity_check"}
# Functions that call another public function in torch.
_RESIZED = {"recompute_scale_factor": None, "antialias": False}
_INSTEAD: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("nn.functional", "upsample"): ("nn.functional.interpolate", _RESIZED),
    ("nn.functional", "upsample_nearest"): ("nn.functional.interpolate", {"mode": "nearest", "align_corners": None, **_RESIZED}),
    ("nn.functional", "upsample_bilinear"): ("nn.functional.interpolate", {"mode": "bilinear", "align_corners": True, **_RESIZED}),
    ("nn.functional", "sigmoid"): ("Tensor.sigmoid", {}),
    ("nn.functional", "tanh"): ("Tensor.tanh", {}),
}


def written_in_python(face: str, name: str) -> bool:
    """Return whether torch implements a name of a namespace ("" or "nn.functional"), or a method of Tensor, in Python."""
    return name.startswith("_") or IN_PYTHON.get(_PLACES.get(face, face), {}).get(name, False)


def handed_on(function: Function, face: str, name: str) -> Handed | None:
    """Return a function that puts a call's arguments into the form in which torch's Python function passes them on; None for other
    functions.
    """
    if not written_in_python(face, name) or name.startswith("_"):
        return None
    found: list[Handed] = []

    def handed(args: tuple[Any, ...], named: dict[str, Any]) -> Call:
        if not found:
            found.append(_form(inspect.signature(function), face, name))
        return found[0](args, named)

    return handed


def _form(signature: inspect.Signature, face: str, name: str) -> Handed:
    known = list(signature.parameters.values())
    named_too = frozenset(p.name for p in known) if face == "nn.init" else _BY_KEYWORD.get(name, frozenset())
    left_out = _LEFT_OUT.get(name, "")
    instead, further = _INSTEAD.get((face, name), ("", {}))
    kinds = {p.name: _BY_PLACE if p.default is p.empty and p.name not in named_too else _BY_NAME for p in known}
    for parameter in known:
        if parameter.kind is parameter.VAR_POSITIONAL:
            kinds[parameter.name] = _ALL
        elif parameter.kind is parameter.VAR_KEYWORD:
            kinds[parameter.name] = _NAMED

    def form(args: tuple[Any, ...], named: dict[str, Any]) -> Call:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:  # the function itself raises for this call
            return "", args, named
        bound.apply_defaults()
        places: list[Any] = []
        keywords: dict[str, Any] = {}
        for key, value in bound.arguments.items():
            kind = kinds[key]
            if kind is _BY_PLACE:
                places.append(value)
            elif kind is _ALL:
                places.extend(value)
            elif kind is _BY_NAME:
                keywords[key] = value
            else:
                keywords.update(value)
        if left_out and keywords[left_out] is signature.parameters[left_out].default:
            del keywords[left_out]
        indices = keywords.get("return_indices")
        return f"{face}.{name}_with_indices" if indices else instead, tuple(places), {**keywords, **further}

    return form


_BY_PLACE, _BY_NAME, _ALL, _NAMED = range(4)
