"""The registry of KL divergences by pair of distribution classes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.core.warned import warn
from .distribution import Distribution

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """Return a decorator that registers a function of (p, q) for ``kl_divergence`` of two classes and their subclasses."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # classes that are not mstorch's are accepted, such as pyro's
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def enter(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return enter


def _nearest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """Return the most specific of the pairs of classes: element ``first`` is compared first, and the other element decides ties."""

    def more_special(one: tuple[type, type], other: tuple[type, type]) -> bool:
        for side in (first, 1 - first):
            if not issubclass(one[side], other[side]):
                return False
            if one[side] is not other[side]:
                return True
        return True

    best = matches[0]
    for match in matches[1:]:
        if match != best and more_special(match, best):
            best = match
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """Return the function registered for the pair, or for its closest ancestors; NotImplemented if there is none."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence ``E_p[log p - log q]``, of the batch shape."""
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)
