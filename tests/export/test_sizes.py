"""dynamic_shapes: the declarations that an export accepts, and the sizes that an exported program accepts, compared with torch."""
from __future__ import annotations

import logging
from typing import Any

import pytest

logging.getLogger("torch.export").setLevel(logging.ERROR)
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.on_the_cpu]

# Declarations for a tensor x of 3 x 6.
DECLARED = """
{"x": {0: b}} | ({0: b},) | [{0: b}] | {"x": {0: b, 1: Dim("c")}} | {"x": {0: Dim.AUTO}} | {"x": {0: Dim.DYNAMIC}} | {"x": {0: Dim.STATIC}} | {"x": {0: None}} |
{"x": None} | {"x": (b, None)} | {"x": [b, Dim("c")]} | {"x": {0: Dim("d")}} | {"x": {0: Dim("d", min=3)}} | {"x": {0: Dim("d", min=3, max=5)}} | {"x": {0: 3}} |
{"x": {0: b, 1: b * 2}} | {"x": {0: b, 1: 2 * b}} | {"x": {0: b, 1: b + 3}} | {"x": {0: b, 1: Dim.STATIC}} | {"x": {-1: b}} | {} | None |
{"z": {0: b}} | ({0: b}, {0: b}) | {"x": {0: Dim("d", min=5)}} | {"x": {0: 4}} | {"x": {0: b, 1: b}} | {"x": "a"} | {"x": b} | {"x": (b,)} | {"x": {0: "a"}} |
{"x": {0: 2.5}} | {"x": [{0: b}]}
"""
SIZES = ((3, 6), (2, 6), (4, 6), (8, 6), (9, 6), (4, 8), (3, 7), (1, 6), (5, 10))


def said(run: Any) -> Any:
    """Return a run's result, or the first words of its error."""
    try:
        return run()
    except (RuntimeError, AssertionError) as error:
        return type(error).__name__, str(error).split("\n")[0].partition(" For more information")[0]


@pytest.mark.parametrize("declared", [one.strip() for one in DECLARED.replace("\n", " ").split("|")])
def test_sizes_of_a_tensor(both: Any, declared: str) -> None:
    def body(torch: Any) -> Any:
        class Module(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return x * 2

        Dim = torch.export.Dim
        known = {"Dim": Dim, "b": Dim("b", min=2, max=8)}
        program = said(lambda: torch.export.export(Module(), (torch.ones(3, 6),), dynamic_shapes=eval(declared, known)))
        if isinstance(program, tuple):
            return program
        return [said(lambda size=size: tuple(program.module()(torch.ones(size)).shape)) for size in SIZES]

    both(body)


@pytest.mark.parametrize("declared", [
    '{"x": {0: b}, "d": {"a": [{0: b}, None]}, "k": None}', '{"x": {0: b}, "d": None, "k": {0: Dim("c")}}', '{"x": {0: b}, "d": {"a": [{0: Dim("e")}, {0: 2}]}, "k": None}',
])  # fmt: skip
def test_sizes_within_trees(both: Any, declared: str) -> None:
    def body(torch: Any) -> Any:
        class Module(torch.nn.Module):
            def forward(self, x: Any, d: Any, *, k: Any) -> Any:
                return d["a"][0].sum() + d["a"][1].sum() + x + k.sum()

        Dim, ones = torch.export.Dim, torch.ones
        program = torch.export.export(
            Module(), (ones(5, 3), {"a": [ones(5, 3), ones(2)]}), {"k": ones(4)}, dynamic_shapes=eval(declared, {"Dim": Dim, "b": Dim("b", min=4, max=8)})
        )
        calls = [((6, 3), (6, 3), (2,), 4), ((6, 3), (7, 3), (2,), 4), ((6, 3), (6, 3), (3,), 4), ((6, 3), (6, 4), (2,), 4), ((9, 3), (9, 3), (2,), 4), ((5, 3), (5, 3), (2,), 7)]
        return [said(lambda: tuple(program.module()(ones(x), {"a": [ones(a), ones(c)]}, k=ones(k)).shape)) for x, a, c, k in calls]

    both(body)


@pytest.mark.parametrize("expression", [
    "b", "2 * b + 1", "b - 1", "(b + 1) * 2", "Dim('q', min=3)", "Dim('q', max=5)", "Dim.AUTO", "dims('a', 'c', max=4)", "b * b", "b * -1", "b + 1.5", "1 - b", "Dim('1x')",
    "Dim('x', min=5, max=3)", "b / 2",
])  # fmt: skip
def test_dimensions(both: Any, expression: str) -> None:
    def body(torch: Any) -> Any:
        Dim = torch.export.Dim
        found = eval(expression, {"Dim": Dim, "dims": torch.export.dims, "b": Dim("b", min=2, max=8)})
        return repr(found), getattr(found, "__name__", None)

    both(body)
