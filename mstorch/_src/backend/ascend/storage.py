"""Views, copies and concatenation on Ascend. Metadata operations (reshape, permute, expand, slices) run no kernel."""
from __future__ import annotations

from ..kernels._nodes import PARTS
from ..raw import MS_DTYPE, NAME_OF, Raw, raw_dtype
from ..tape import tracing
from ._primitives import dense, enter, enters, run, scatter_add

Sizes = tuple[int, ...]


@enters("expand")
def _expand(x: Raw, shape: Sizes) -> Raw:
    return run("BroadcastTo", x, at=(tuple(shape),))


@enters("view_dtype")
def _view_dtype(x: Raw, name: str) -> Raw:
    """Return the flat elements viewed as a dtype.

    MindSpore's ViewDtype crashes on complex numbers, and in MindSpore 2.10 on the CPU also on a 0-d tensor that was reshaped."""
    flat = run("Reshape", x, (-1,))
    if name in PARTS:
        numbers = flat if NAME_OF[raw_dtype(x)] == PARTS[name] else _view_dtype(flat, PARTS[name])
        pairs = run("Reshape", numbers, (-1, 2))
        return run("Complex", run("SelectExtView", pairs, 1, 0), run("SelectExtView", pairs, 1, 1))
    if PARTS.get(NAME_OF[raw_dtype(x)]) == name:
        return run("Reshape", run("StackExt", (run("Real", flat), run("Imag", flat)), at=(-1,)), (-1,))
    return run("ViewDtype", flat if x.shape and flat.is_contiguous() else run("Clone", flat), MS_DTYPE[name])


@enters("storage_gather")
def _storage_gather(x: Raw, index: Raw) -> Raw:
    return run("Take", x, index)


@enters("storage_scatter")
def _storage_scatter(x: Raw, index: Raw, new: Raw) -> Raw:
    if index.size == 0:
        return x
    flat = run("Scatter", run("Reshape", x, (-1,)), 0, run("Reshape", index, (-1,)), run("Reshape", new, (-1,)), "none")
    return run("Reshape", flat, tuple(x.shape))


@enters("window")
def _window(x: Raw, shape: Sizes, strides: Sizes, offset: int) -> Raw:
    rows = dense(x)
    return run("Contiguous", run("AsStrided", rows, shape, strides, offset + rows.storage_offset()))  # offset from the start of the memory


@enters("window_placed")
def _window_placed(x: Raw, size: int, shape: Sizes, strides: Sizes, offset: int, adding: bool) -> Raw:
    """Return ``size`` zeros with the elements of ``x`` written at the positions of a strided view; with ``adding``, elements at one
    position are summed."""
    memory = run("Zeros", (size,), x.dtype)
    if not adding and tracing() is None:  # a graph has no writes
        run("InplaceCopy", run("AsStrided", memory, shape, strides, offset), x)
        return memory
    positions = run("Contiguous", run("AsStrided", run("Arange", 0, size, 1, MS_DTYPE["int64"]), shape, strides, offset))
    return scatter_add(memory, 0, run("Reshape", positions, (-1,)), run("Reshape", x, (-1,)))


@enters("cat")
def _cat(raws: tuple[Raw, ...], dim: int) -> Raw:
    return run("Concat", raws, at=(dim,))


@enters("stack")
def _stack(raws: tuple[Raw, ...], dim: int) -> Raw:
    return run("StackExt", raws, at=(dim,))


@enters("tile")
def _tile(x: Raw, repeats: Sizes) -> Raw:
    return run("Repeat", x, repeats)


@enters("flip")
def _flip(x: Raw, dims: Sizes) -> Raw:
    return run("ReverseV2", x, at=(tuple(dims),)) if dims and x.shape and 0 not in x.shape else run("Clone", x)


@enters("roll")
def _roll(x: Raw, shifts: Sizes, dims: Sizes) -> Raw:
    return run("Roll", x, at=(tuple(shifts), tuple(dims))) if x.shape and 0 not in x.shape else run("Clone", x)


@enters("triangle")
def _triangle(x: Raw, diagonal: int, lower: bool) -> Raw:
    return run("TrilExt", x, diagonal) if lower else run("Triu", x, at=(diagonal,))


enter("reshape", "Reshape")
enter("permute", "Transpose")
enter("clone", "Clone")
enter("slice", "SliceExt")
enter("select", "SelectExtView")
