"""The private forms of the optimizers' functions, which packages import: one tensor after another, all at once, fused.

mstorch has one implementation of each. The forms take torch's arguments and pass them on.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def forms(function: Callable[..., None], keywords: str, scaled: bool = False) -> tuple[Callable[..., None], ...]:
    """Return the single-tensor, the multi-tensor and the fused form of a function.

    Their positional parameters are the function's lists and, if ``scaled``, the factor and the check of a gradient scaler; ``keywords`` are
    the others, which all have to be given."""
    signature = inspect.signature(function)
    lists = [
        name for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty and parameter.kind is _POSITIONAL
    ]  # fmt: skip
    if lists[1] == "d_p_list":
        lists[1] = "grads"
    positional = [*lists, "grad_scale", "found_inf"] if scaled else lists
    parameters = [inspect.Parameter(name, _POSITIONAL) for name in positional]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in keywords.split()]
    return tuple(_form(function, kind, inspect.Signature(parameters)) for kind in ("single_tensor", "multi_tensor", "fused"))


def _form(function: Callable[..., None], kind: str, signature: inspect.Signature) -> Callable[..., None]:
    takes = inspect.signature(function).parameters

    def form(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        if "d_p_list" in takes:
            given["d_p_list"] = given.pop("grads")
        if not given["params"]:
            return
        if "foreach" in takes:
            given["foreach"] = kind == "multi_tensor"
        if kind == "fused":
            given["fused"] = True
        function(**given)

    form.__name__ = form.__qualname__ = f"_{kind}_{function.__name__}"
    form.__module__ = function.__module__
    form.__doc__ = f"Run ``{function.__name__}`` as torch's function of this name."
    form.__signature__ = signature  # type: ignore[attr-defined]
    return form
