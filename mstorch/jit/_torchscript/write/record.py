"""One run of a module as lines of TorchScript: public calls that are operators of torch, and the operators below other calls.

Sizes that the run reads of tensors stay computed (``torch.size(x, 0)``), so that the program takes other batches. Where a call below
autograd holds sizes as numbers, the program checks that its inputs are of the sizes of the run.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from ...._src.aten.calling import unseen
from ...._src.aten.overloads import all_overloads
from ...._src.core.above import above
from ...._src.core.schemas import Argument, Schema
from ...._src.core.size import Size
from ...._src.core.trees import tree_flatten
from ...._src.core.warned import warn
from ...._tensor import Tensor
from ....overrides import TorchFunctionMode
from ....utils._python_dispatch import TorchDispatchMode
from .forms import COMPOSED, FORMS
from .values import Length, Unwritable, has_length, length, plain, shown, shown_length

_OURS = str(Path(__file__).parents[3])
_LISTED = re.compile(r"(.*)\[(\d*)\]")
_PYTHON: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": lambda value: isinstance(value, int) and type(value) is not bool,
    "SymInt": lambda value: isinstance(value, int) and type(value) is not bool,
    "float": lambda value: isinstance(value, (int, float)) and type(value) is not bool,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: isinstance(value, str),
    "Scalar": lambda value: isinstance(value, (int, float, complex)),
    "ScalarType": lambda value: type(value).__name__ == "dtype",
    "Layout": lambda value: type(value).__name__ == "layout",
    "Device": lambda value: type(value).__name__ == "device" or isinstance(value, str),
    "MemoryFormat": lambda value: type(value).__name__ == "memory_format",
}


def _fits(value: Any, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(value, kind[:-1])
    listed = _LISTED.fullmatch(kind)
    if listed is not None:
        if isinstance(value, (list, tuple)):
            return all(_fits(item, listed[1]) for item in value)
        return bool(listed[2]) and listed[1] != "Tensor" and _fits(value, listed[1])
    return _PYTHON.get(kind, lambda value: False)(value)


def _as_list(value: Any, kind: str) -> Any:
    """Return one number for all dimensions as a list, where the operator takes one."""
    listed = _LISTED.fullmatch(kind.rstrip("?"))
    if listed is not None and listed[2] and isinstance(value, (int, float)):
        return [value] * int(listed[2])
    return value


Bound = tuple[Schema, list[tuple[Argument, Any]]]


def bind(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Bound | None:
    """Return the first overload of an operator that takes the arguments, with those that are there; None if there is none."""
    try:
        overloads = all_overloads(name)
    except RuntimeError:
        return None
    for schema, _ in overloads.values():
        bound = _bind(schema, args, kwargs)
        if bound is not None:
            return schema, bound
    return None


def _bind(schema: Schema, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[Argument, Any]] | None:
    free = [one for one in schema.arguments if not one.kwarg_only]
    if any(one.name == "out" for one in schema.arguments):
        return None
    values = list(args)
    last = _LISTED.fullmatch(free[-1].type) if free else None
    told = last is not None and len(values) >= len(free) and isinstance(values[len(free) - 1], int)
    if told and (len(values) > len(free) or last is not None and not last[2]):
        values = [*values[: len(free) - 1], values[len(free) - 1 :]]  # sizes that are told one by one
    if len(values) > len(free):
        return None
    rest = dict(kwargs)
    if "input" in rest and free and free[0].name == "self":
        rest["self"] = rest.pop("input")
    bound = list(zip(free, values))
    for one in schema.arguments[len(values) :]:
        if one.name in rest:
            bound.append((one, rest.pop(one.name)))
        elif not one.has_default:
            return None
    if rest or not all(_fits(value, one.type) for one, value in bound):
        return None
    return [(one, _as_list(value, one.type)) for one, value in bound]


class Recorder:
    """The lines of a program, and the names of its tensors."""

    def __init__(self, constant: Callable[[Any], int]) -> None:
        self.lines: list[tuple[str, str, bool]] = []  # names that are assigned, the rest of the line, whether it may be left out if unused
        self.fixed = ""  # a call that holds sizes as numbers, with its place
        self._constant = constant
        self._names: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._held: list[Any] = []  # keeps objects alive, so that ids stay unique
        self._count = 0

    def fresh(self, pure_text: str | None = None) -> str:
        """Return a new name, assigned if there is a text."""
        self._count += 1
        name = f"_{self._count}"
        if pure_text is not None:
            self.lines.append((name, pure_text, True))
        return name

    def enter(self, tensor: Any, name: str) -> None:
        """Register a tensor of the arguments."""
        self._names[id(tensor)] = name
        self._held.append(tensor)

    def own(self, tensor: Any, path: str) -> None:
        """Register a parameter or buffer of the module, by its expression."""
        self._paths.setdefault(id(tensor), path)
        self._held.append(tensor)

    def name_of(self, tensor: Any) -> str:
        """Return the name of a tensor; one that no call made is a constant."""
        key = id(tensor)
        if key not in self._names:
            path = self._paths.get(key)
            if path is None:
                if getattr(tensor, "is_sparse", False):
                    raise Unwritable("mstorch: torch.jit.save has no form for a sparse constant")
                path = f"CONSTANTS.c{self._constant(tensor)}"
                self._held.append(tensor)
            self._names[key] = self.fresh(path)
        return self._names[key]

    def show(self, value: Any) -> str:
        """Return the text of an argument."""
        return shown(value, self.name_of)

    def write(self, schema: Schema, bound: list[tuple[Argument, Any]], result: Any) -> None:
        """Add an operator's call with its results."""
        leaves = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)]
        position = {one.name: place for place, one in enumerate(schema.arguments) if not one.kwarg_only}
        given = []
        for place, (one, value) in enumerate(bound):
            text = self._listed(one.type, value)
            given.append(text if position.get(one.name) == place else f"{one.name}={text}")
        space = "torch" if schema.namespace == "aten" else f"ops.{schema.namespace}"
        call = f"{space}.{schema.name}({', '.join(given)})"
        if re.fullmatch(r"Tensor(\(.*\))?\[\]", schema.returns):
            whole = self.fresh()
            self.lines.append((whole, call, False))
            names = [self.fresh() for _ in leaves]
            self.lines.append((f"{', '.join(names)}, ", whole, False))
        elif schema.returns.startswith("("):
            names = [self.fresh() for _ in range(len(re.findall(r"Tensor", schema.returns)))]
            self.lines.append((f"{', '.join(names)}, ", call, False))
        elif not leaves:
            self.lines.append(("", call, False))
            names = []
        else:
            names = [self.fresh()]
            self.lines.append((names[0], call, False))
        for leaf, name in zip(leaves, names):
            self.enter(leaf, name)

    def _listed(self, kind: str, value: Any) -> str:
        if value == [] if isinstance(value, list) else value == () if isinstance(value, tuple) else False:
            inner = "Tensor" if "Tensor" in kind else "float" if "float" in kind else "int"
            return f"annotate(List[{inner}], [])"
        if kind.startswith("Tensor?["):
            return f"annotate(List[Optional[Tensor]], {self.show(value)})"
        if "Device" in kind and isinstance(value, str):
            return f'torch.device("{value}")'
        if kind.rstrip("?") == "float" and isinstance(value, int):
            return self.show(float(value))
        return self.show(value)

    def length(self, number: int, text: str) -> Length:
        """Return a size that a line computes."""
        return length(int(number), self.fresh(text))


def place_of_caller() -> str:
    """Return the line outside mstorch that runs, as "file:line"."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Functions(TorchFunctionMode):
    """Writes public calls that are operators of torch."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._attribute(getattr(getattr(func, "__self__", None), "__name__", ""), func, args)
        if name in ("size", "__len__", "numel") and len(args) <= 2:
            return self._size(name, func, args, kwargs)
        if name in ("__getitem__", "__setitem__"):
            with unseen():
                result = func(*plain(args), **kwargs)
            if self._indexed(name, args, result):
                return result
        composed = COMPOSED.get(name)
        if composed is not None:
            with self:
                result = composed(*args, **kwargs)
            if result is not NotImplemented:
                return result
        bound = self._bound(func, name, args, kwargs)
        if bound is None:
            if has_length((args, kwargs)):
                self._recorder.fixed = self._recorder.fixed or f"{name} at {place_of_caller()}"
            return func(*plain(args), **plain(kwargs))  # its operators are recorded below autograd
        for one in tree_flatten([value for _, value in bound[1]])[0]:
            if isinstance(one, Tensor):
                self._recorder.name_of(one)  # before it is written to
        with unseen():
            result = func(*plain(args), **plain(kwargs))
        if any(isinstance(leaf, Tensor) for leaf in tree_flatten(result)[0]):
            self._recorder.write(*bound, result)
        elif name in ("item", "tolist", "__bool__", "__int__", "__float__"):
            _told_of_values(name)
        return result

    def _attribute(self, name: str, func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        recorder = self._recorder
        if name == "shape":
            with unseen():
                sizes = func(*args)
            own = recorder.name_of(args[0])
            return tuple.__new__(Size, [recorder.length(size, f"torch.size({own}, {dim})") for dim, size in enumerate(sizes)])
        if name == "data":
            own = recorder.name_of(args[0])
            with unseen():
                result = func(*args)
            recorder.enter(result, recorder.fresh(f"torch.detach({own})"))
            return result
        return func(*args)

    def _size(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = self._recorder
        own = recorder.name_of(args[0])
        with unseen():
            sizes = func(*plain(args), **plain(kwargs))
        if name == "__len__":
            return sizes  # (Python takes an int alone)
        if name == "numel":
            return recorder.length(sizes, f"torch.numel({own})")
        if isinstance(sizes, int):
            dim: Any = args[1] if len(args) > 1 else kwargs["dim"]
            return recorder.length(sizes, f"torch.size({own}, {int(dim)})")
        return tuple.__new__(Size, [recorder.length(size, f"torch.size({own}, {dim})") for dim, size in enumerate(sizes)])

    def _bound(self, func: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound | None:
        form = FORMS.get(name) if getattr(Tensor, name, None) is not func else None
        if form is not None:
            try:
                found = form(*args, **kwargs)
            except TypeError:
                return None
            return None if found is None else bind(found[0], found[1], {})
        if name.startswith("__") and name.endswith("__"):
            short = name.strip("_")
            if short in ("radd", "rmul"):
                short = short[1:]
            elif short in ("rpow", "rmatmul"):
                args, short = (args[1], args[0]), short[1:]
            name = short
        found = bind(name, args, kwargs)
        if found is not None or name.startswith("_"):
            return found
        try:
            signature = inspect.signature(func).bind(*args, **kwargs)
        except (TypeError, ValueError):
            return None
        given = {key: value for key, value in signature.arguments.items() if key not in ("_stacklevel", "out", "return_indices") or value}
        given = {key: value for key, value in given.items() if value is not None and key != "_stacklevel"}
        if given.pop("inplace", False):
            name += "_"
        return bind(name, (), given)

    def _indexed(self, name: str, args: tuple[Any, ...], result: Any) -> bool:
        """Write an index, or a write to one, as views; return whether that is done."""
        recorder, where = self._recorder, args[1]
        items = list(where) if isinstance(where, tuple) else [where]
        tensors = [item for item in items if isinstance(item, Tensor)]
        if len(tensors) > 1 and any(map(_is_mask, tensors)) or not all(map(_is_written, items)):
            return False
        text, indices = self._viewed(args[0], items)
        if name == "__getitem__":
            if indices:
                text = f"torch.index({text}, {indices})"
            elif not text.startswith("torch"):
                text = f"torch.alias({text})"
            name = recorder.fresh()
            recorder.lines.append((name, text, False))
            recorder.enter(result, name)
        elif indices:
            value = args[2] if isinstance(args[2], Tensor) else above.torch.tensor(args[2], dtype=args[0].dtype)
            recorder.lines.append(("", f"torch.index_put_({text}, {indices}, {recorder.name_of(value)})", False))
        else:
            call = "copy_" if isinstance(args[2], Tensor) else "fill_"
            recorder.lines.append(("", f"torch.{call}({text}, {recorder.show(args[2])})", False))
        return True

    def _viewed(self, tensor: Tensor, items: list[Any]) -> tuple[str, str]:
        """Return the view that the items of a key without tensors make, and the list of its tensors, empty without them."""
        recorder, text, dim = self._recorder, self._recorder.name_of(tensor), 0
        tensors = dict[int, Any]()
        taken = sum(map(_dims_taken, items))
        for item in items:
            if item is Ellipsis:
                dim += tensor.dim() - taken
            elif item is None:
                text = f"torch.unsqueeze({text}, {dim})"
                dim += 1
            elif isinstance(item, int):
                text = f"torch.select({text}, {dim}, {shown_length(item)})"
            elif isinstance(item, Tensor):
                tensors[dim] = item
                dim += _dims_taken(item)
            else:
                if item != slice(None):
                    start, stop, step = map(recorder.show, (item.start, item.stop, 1 if item.step is None else item.step))
                    text = f"torch.slice({text}, {dim}, {start}, {stop}, {step})"
                dim += 1
        if not tensors:
            return text, ""
        listed = [recorder.name_of(tensors[place]) if place in tensors else "None" for place in range(max(tensors) + 1)]
        return text, f"annotate(List[Optional[Tensor]], [{', '.join(listed)}])"


_SIZES = frozenset("size shape sizes output_size split_sizes repeats new_size end length start".split())


class Operators(TorchDispatchMode):
    """Writes the operators below calls that are none themselves."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        schema = func._known
        if schema is None or schema.namespace == "mstorch":
            raise Unwritable(f"mstorch: torch.jit.save has no form for {func} ({place_of_caller()})")
        bound = [*zip(schema.arguments, args), *((one, kwargs[one.name]) for one in schema.arguments if kwargs and one.name in kwargs)]
        for one in tree_flatten([value for _, value in bound])[0]:
            if isinstance(one, Tensor):
                self._recorder.name_of(one)
        result = func(*args, **(kwargs or {}))
        if func._opname == "_local_scalar_dense":
            _told_of_values("a tensor")
            return result
        if any(one.name in _SIZES and _sized(value) for one, value in bound):
            self._recorder.fixed = self._recorder.fixed or f"{func} at {place_of_caller()}"
        self._recorder.write(schema, bound, result)
        return result


def _sized(value: Any) -> bool:
    """Return whether numbers are sizes that an input may have told."""
    return isinstance(value, (list, tuple)) and any(size > 1 for size in value) or isinstance(value, int) and 1 < value < 1 << 62


def _told_of_values(what: str) -> None:
    warn(
        f"A value of {what} is read at {place_of_caller()}: torch.jit.save writes it as a constant, so that the program might not "
        "generalize to other inputs",
    )


def _is_written(item: Any) -> bool:
    """Return whether an item of a key has a form in a trace: not True and False, and no slice between tensors."""
    if isinstance(item, slice):
        return not any(isinstance(bound, Tensor) for bound in (item.start, item.stop, item.step))
    return item is None or item is Ellipsis or isinstance(item, (int, Tensor)) and type(item) is not bool


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.dtype is above.torch.bool


def _dims_taken(item: Any) -> int:
    """Return how many of a tensor's dimensions an item of a key stands for."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if _is_mask(item) else 1
