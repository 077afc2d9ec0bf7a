"""Programs that take and return objects of dataclasses."""
from __future__ import annotations

import dataclasses


def test_a_program_takes_and_returns_dataclasses(both):
    def body(torch):
        @dataclasses.dataclass
        class Given:
            feature: torch.Tensor
            bias: int

        @dataclasses.dataclass
        class Result:
            value: torch.Tensor

        class Net(torch.nn.Module):
            def forward(self, x: Given) -> Result:
                return Result(value=x.feature * 2 + x.bias)

        for kind in (Given, Result):
            torch.export.register_dataclass(kind)
        program = torch.export.export(Net(), (Given(torch.ones(2, 2), 1),))
        found = program.module()(Given(torch.full((2, 2), 3.0), 1))
        return type(found).__name__, found.value

    both(body)
