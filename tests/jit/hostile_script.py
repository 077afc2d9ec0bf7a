"""A module that is scripted for the hostile files of ``tests/hostile_programs.py``."""
from __future__ import annotations

from typing import Any


def Net(torch: Any) -> Any:
    """Return the module, of a class whose source is this file."""

    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("total", torch.zeros(2))
            self.names = ["a", "b"]
            self.scale = 0.5

        def forward(self, x, sizes):
            # type: (Tensor, List[int]) -> Tensor
            y = self.linear(x) * self.scale + torch.zeros(2, device=torch.device("cpu"))
            for size in sizes:
                if size > 1:
                    y = y + self.helped(y, size)
                elif len(self.names) > 2:
                    raise RuntimeError("too many names")
            return y

        @torch.jit.export
        def helped(self, y, size):
            # type: (Tensor, int) -> Tensor
            kept = {"a": y, "b": self.total}
            return kept["a"].sum() * size + kept["b"]

    return Counted()
