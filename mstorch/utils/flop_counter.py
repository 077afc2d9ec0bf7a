"""torch.utils.flop_counter: counts the FLOPs of matmuls, convolutions and attention.

A multiplication and an addition count as two. Differs from torch: operators whose decomposition is not known raise (``_python_dispatch``).
"""
from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._src.hook import missing as _missing
from .._src.leaving import Block, Undo, all_of
from .._tensor import Tensor
from ..nn.modules.module import Module
from ..ops import OpOverloadPacket, aten
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_leaves, tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]
Formula = Callable[..., int]
Shape = Sequence[int]


def get_shape(i: Any) -> Any:
    """Return a tensor's shape; other values unchanged."""
    return i.shape if isinstance(i, TensorBase) else i


flop_registry: dict[Any, Formula] = {}  # by operator: function of the arguments and ``out_val`` that returns the count


def shape_wrapper(f: Formula) -> Formula:
    """Wrap a formula of shapes so that it takes tensors."""

    @functools.wraps(f)
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return of_tensors


def register_flop_formula(targets: OpOverloadPacket, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Return a decorator that registers the FLOP formula of one or more operators (``torch.ops.mylib.foo``): a function of the arguments'
    shapes and of ``out_shape``.

    With ``get_raw``, the formula gets the arguments themselves, and the result as ``out_val``."""

    def register(flop_formula: Formula) -> Formula:
        formula = flop_formula if get_raw else shape_wrapper(flop_formula)
        for target in tree_leaves(targets):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                    f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Sequence[int] | None = None, **kwargs: Any) -> int:
    """Return ``2 m n k`` for (m, k) @ (k, n)."""
    (m, k), (_, n) = a_shape, b_shape
    return m * n * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Sequence[int] | None = None, **kwargs: Any) -> int:
    """Return the FLOPs of the matmul; the addition is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Sequence[int] | None = None, **kwargs: Any) -> int:
    """Return ``2 b m n k`` for (b, m, k) @ (b, k, n)."""
    (b, m, k), (_, _, n) = a_shape, b_shape
    return b * m * n * 2 * k


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Sequence[int] | None = None, **kwargs: Any) -> int:
    """Return the FLOPs of the batched matmul; the addition is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Return twice the filter size times the number of output positions (input positions, if transposed)."""
    places = prod((x_shape if transposed else out_shape)[2:])
    return places * prod(w_shape) * x_shape[0] * 2


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Sequence[int] | None, _stride: Sequence[int], _padding: Sequence[int],
    _dilation: Sequence[int], transposed: bool, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Return the FLOPs of a convolution; the bias is not counted."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def _exchanged(shape: Shape) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Sequence[int], _stride: Sequence[int], _padding: Sequence[int],
    _dilation: Sequence[int], transposed: bool,
    _output_padding: Sequence[int], _groups: int, output_mask: Sequence[bool], out_shape: Sequence[Any], **kwargs: Any,
) -> int:  # fmt: skip
    """Return the FLOPs of the requested gradients: the input's is computed by a transposed convolution, the weight's by a convolution with
    the gradient.
    """
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, get_shape(out_shape[0]), not transposed)
    if output_mask[1]:
        first, second = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(_exchanged(first), _exchanged(second), _exchanged(get_shape(out_shape[1])))
    return count


def get_suffix_str(number: int) -> str:
    """Return the unit for a count: "", "K", "M", "B" or "T"."""
    return _UNITS[max(0, min(len(_UNITS) - 1, (len(str(number)) - 2) // 3))]


_UNITS = ["", "K", "M", "B", "T"]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """Format a number in a unit, with three decimals."""
    return f"{number / 1000 ** _UNITS.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """Format ``num / denom`` in percent; "0%" if ``denom`` is 0."""
    return f"{num / denom:.2%}" if denom else "0%"


class FlopCounterMode(Block):
    """A context manager that counts FLOPs by module and operator, and prints a table at exit if ``display`` is set.

    ``depth`` is the table's depth in the module tree. ``custom_mapping`` has formulas for additional operators.
    """

    def __init__(
        self, mods: Module | list[Module] | None = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mode: _Counting | None = None
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        own = {key: value if getattr(value, "_get_raw", False) else shape_wrapper(value) for key, value in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """Return the total number of FLOPs counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return a dict from module to a dict from operator to count."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a table, down to ``depth`` in the module tree."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows: list[list[str]] = []
        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < (999999 if depth is None else depth)]
        for name in names:
            rows += self._rows(name, name.count("."), total)
        subsumed = any(sum(self.flop_counts[name].values()) >= total for name in names)
        if "Global" in self.flop_counts and not subsumed:
            rows = [*self._rows("Global", 0, total), *([" " + row[0], *row[1:]] for row in rows)]
        return _table(["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]])

    def _rows(self, name: str, depth: int, total: int) -> list[list[str]]:
        unit, padding, counts = get_suffix_str(total), " " * depth, self.flop_counts[name]
        lines = [(padding + name, sum(counts.values())), *((f"{padding} - {op}", count) for op, count in counts.items())]
        return [[text, convert_num_with_suffix(count, unit), convert_to_percent_str(count, total)] for text, count in lines]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        undo: Undo = [self._show]
        self.mode = _Counting(self)
        self.at_end(all_of(undo))
        try:
            for inner in (self.mod_tracker, self.mode):
                leave = inner.__exit__
                inner.__enter__()
                undo[:0] = (leave,)  # directly after the change that it undoes: no interrupt comes between
        except BaseException:
            self.__exit__()
            raise
        return self

    def _show(self) -> None:
        self.mode = None
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(
        self, func_packet: OpOverloadPacket, out: Tensor, args: tuple[Tensor | float | Sequence[int], ...], kwargs: dict[Any, Any]
    ) -> Any:
        formula = self.flop_registry.get(func_packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][func_packet] += count
        return out


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Tensor | float | Sequence[int], ...] = (), kwargs: dict[Any, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        return self.counter._count_flops(func._overloadpacket, out, args, kwargs or {})


def _table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]

    def line(row: list[str]) -> str:
        return "  ".join(text.ljust(width) if not place else text.rjust(width) for place, (text, width) in enumerate(zip(row, widths)))

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])

__getattr__ = _missing(__name__)
