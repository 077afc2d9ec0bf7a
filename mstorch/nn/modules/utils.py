"""torch.nn.modules.utils: helpers that expand sizes to tuples and strip prefixes from state dicts."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that repeats a value ``n`` times as a tuple, or converts an iterable to a tuple."""

    def parse(x: int | tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), start=1)
)


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Return the items in reverse order, each repeated ``n`` times: a convolution's padding as ``F.pad`` takes it."""
    return tuple(item for item in t[::-1] for _ in range(n))


def _list_with_default(out_size: int | tuple[Any, int], defaults: Sequence[int]) -> int | list[int]:
    """Return an int unchanged; in a sequence, replace each None by the size that ``defaults`` has for this dimension, counted from the end.
    Raise ValueError if ``defaults`` is not longer than the sequence."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    known = defaults[len(defaults) - len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, known)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix such as ``"module."`` from the keys that have it, and from those of the metadata, in place."""
    _rename(state_dict, lambda key: key.startswith(prefix), prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        # The wrapper's own key is "", the wrapped module's the prefix without the dot.
        _rename(metadata, lambda key: key != "" and (key == prefix.replace(".", "") or key.startswith(prefix)), prefix)


def _rename(names: dict[str, Any], concerns: Callable[[str], bool], prefix: str) -> None:
    for key in [key for key in names if concerns(key)]:
        names[key[len(prefix) :]] = names.pop(key)
