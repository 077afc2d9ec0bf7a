"""The operators of a checkpointed call and of its recomputation, for ``checkpoint(debug=True)``."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from ._python_dispatch import TorchDispatchMode


class _Log(TorchDispatchMode):
    """A mode that notes each operator, its results and where it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []
        self.places: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call the operator and note it."""
        result = func(*args, **(kwargs or {}))
        inputs = ", ".join(_short(item) for item in (*args, *(kwargs or {}).values()))
        self.operators.append(f"{func}({inputs}) -> {_short(result)}")
        self.places.append(f"{func}\n{''.join(traceback.format_list(traceback.extract_stack()[:-2][-8:]))}")
        return result


def _short(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_short, value))}]"
    return repr(value)[:40]


def logs() -> tuple[Callable[[], tuple[Any, Any]], Callable[[], str]]:
    """Return a ``context_fn`` whose two contexts note the operators, and a function that returns what they noted, as a text."""
    first, second = _Log(), _Log()

    def text() -> str:
        parts = []
        for title, log in (("original forward", first), ("recomputation", second)):
            parts += [f"Stack traces of the operators that ran in the {title}:", "\n".join(log.places)]
        for title, log in (("the original forward", first), ("recomputation", second)):
            parts += [f"Operations executed during {title}:", "\n".join(log.operators)]
        parts.append(
            "You are seeing this error because you passed debug=True to checkpoint, and the tensors that were saved in the original "
            "forward differ from those that were saved in the recomputation: compare the operators of the two."
        )
        return "\n\n".join(parts)

    return lambda: (first, second), text
