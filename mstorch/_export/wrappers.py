"""torch._export.wrappers: decorators for tensor subclasses that torch.export uses."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def mark_subclass_constructor_exportable_experimental(constructor_subclass: Callable[..., None]) -> Callable[..., None]:
    """Return a wrapper of a tensor subclass's ``__init__`` that only calls it: mstorch's graphs do not record constructors."""
    if constructor_subclass.__name__ != "__init__":
        raise RuntimeError(
            "torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on subclass tensor.__init__"
            f"But, you are adding it on {constructor_subclass.__name__} which is not supported. "
            "If __init__ doesn't exist on your subclass, please add it. Look at DTensor.__init__ implementation for example"
        )

    @functools.wraps(constructor_subclass)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        constructor_subclass(*args, **kwargs)

    return wrapper
