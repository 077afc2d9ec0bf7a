"""Classes decorated by a grad mode: torch warns, and replaces the class by a function that constructs instances in that mode."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
MODES: dict[str, Callable[[Any], Any]] = {
    "no_grad": lambda torch: torch.no_grad(), "enable_grad": lambda torch: torch.enable_grad(), "inference_mode": lambda torch: torch.inference_mode(),
    "set_grad_enabled": lambda torch: torch.set_grad_enabled(False),
}  # fmt: skip


@pytest.mark.parametrize("name", MODES)
def test_classes(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mode = MODES[name](torch)
            torch.set_grad_enabled(True)

            @mode
            class Decorated:
                def __init__(self) -> None:
                    self.inside = torch.is_grad_enabled()

                def method(self) -> Any:
                    return torch.is_grad_enabled()

        made = Decorated()
        return [(one.category.__name__, str(one.message)) for one in caught], type(Decorated).__name__, made.inside, made.method()

    both(body)
