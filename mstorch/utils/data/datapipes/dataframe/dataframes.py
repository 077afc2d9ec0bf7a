"""Deferred operations on data frames: they are recorded, and run on each frame that arrives.

``frames["c"] = frames.a + frames["b"] * 2`` on a traced datapipe records four operations. The records and the variables that they assign
are kept in a context (``ctx``) shared by all parts of one traced datapipe.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .._decorator import functional_datapipe
from ..datapipe import DFIterDataPipe, IterDataPipe
from .structures import DataChunkDF

__all__ = [
    "Capture",
    "CaptureA",
    "CaptureAdd",
    "CaptureCall",
    "CaptureControl",
    "CaptureDataFrame",
    "CaptureDataFrameWithDataPipeOps",
    "CaptureF",
    "CaptureGetAttr",
    "CaptureGetItem",
    "CaptureInitial",
    "CaptureLikeMock",
    "CaptureMul",
    "CaptureSetItem",
    "CaptureSub",
    "CaptureVariable",
    "CaptureVariableAssign",
    "DFIterDataPipe",
    "DataFrameTracedOps",
    "DataFrameTracer",
    "disable_capture",
    "get_val",
]


def disable_capture() -> None:
    """Make every later operation that needs a new variable raise RuntimeError."""
    CaptureControl.disabled = True


class CaptureControl:
    """Holder of the flag ``disabled``: if True, no operations are recorded."""

    disabled = False


class DataFrameTracedOps(DFIterDataPipe):
    """Runs the recorded operations on each frame."""

    def __init__(self, source_datapipe: Any, output_var: Any) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe
        self.output_var = output_var

    def __iter__(self) -> Iterator[Any]:
        for item in self.source_datapipe:
            yield self.output_var.apply_ops(item)


# Methods of a traced datapipe that belong to datapipes, not to frames.
DATAPIPES_OPS = [
    "_dataframes_as_tuples",
    "groupby",
    "_dataframes_filter",
    "map",
    "to_datapipe",
    "shuffle",
    "concat",
    "batch",
    "_dataframes_per_row",
    "_dataframes_concat",
    "_dataframes_shuffle",
]

UNIMPLEMENTED_ATTR = ["__deepcopy__", "__setstate__", "is_shardable", "apply_sharding"]


def _context(schema: Any = None) -> dict[str, Any]:
    return {"operations": [], "variables": [], "schema_df": schema}


class Capture:
    """A deferred value: operations on it are recorded."""

    ctx: dict[str, Any]

    def __init__(self, schema_df: Any = None) -> None:
        self.ctx = _context(schema_df)

    def __str__(self) -> str:
        return self._ops_str()

    def _ops_str(self) -> str:
        return "\n".join(str(operation) for operation in self.ctx["operations"])

    def __getstate__(self) -> dict[str, Any]:
        # Frames are not pickled, only the operations.
        self.ctx["schema_df"] = None
        for variable in self.ctx["variables"]:
            variable.calculated_value = None
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __getattr__(self, attrname: str) -> Any:
        if attrname in ("kwarg", "kwargs"):
            raise RuntimeError("no kwargs!")
        if attrname == "__deepcopy__":
            raise AttributeError
        return CaptureGetAttr(self, attrname, ctx=self.ctx)

    def __getitem__(self, key: Any) -> CaptureGetItem:
        return CaptureGetItem(self, key, ctx=self.ctx)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.ctx["operations"].append(CaptureSetItem(self, key, value, ctx=self.ctx))

    def _assigned(self, value: Any, result: Any) -> CaptureVariable:
        """Record the assignment of ``result`` to a new variable, and return the variable."""
        variable = CaptureVariable(value, ctx=self.ctx)
        self.ctx["operations"].append(CaptureVariableAssign(variable=variable, value=result, ctx=self.ctx))
        return variable

    def __add__(self, add_val: Any) -> CaptureVariable:
        result = CaptureAdd(self, add_val, ctx=self.ctx)
        return self._assigned(result, result)

    def __sub__(self, add_val: Any) -> CaptureVariable:
        result = CaptureSub(self, add_val, ctx=self.ctx)
        return self._assigned(result, result)

    def __mul__(self, add_val: Any) -> CaptureVariable:
        result = CaptureMul(self, add_val, ctx=self.ctx)
        return self._assigned(result, result)

    def _is_context_empty(self) -> bool:
        return not self.ctx["operations"] and not self.ctx["variables"]

    def apply_ops_2(self, dataframe: Any) -> None:
        """Run the recorded operations on a frame."""
        self.ctx["variables"][0].calculated_value = dataframe
        for operation in self.ctx["operations"]:
            operation.execute()

    def execute(self) -> Any:
        """Return the value, after the operations that it depends on have run."""
        raise NotImplementedError(f"{type(self).__name__} has no value")

    @property
    def columns(self) -> Any:
        """The columns after running the recorded operations on the first frame."""
        self.apply_ops_2(self.ctx["schema_df"])
        return self.execute().columns

    def __call__(self, *args: Any, **kwargs: Any) -> CaptureVariable:
        if self._is_context_empty():
            given = [*args, *(part for pair in kwargs.items() for part in pair)]
            captures = (one for one in given if isinstance(one, Capture) and not one._is_context_empty())
            self.ctx = next((one.ctx for one in captures), self.ctx)
        return self._assigned(None, CaptureCall(self, ctx=self.ctx, args=args, kwargs=kwargs))


class CaptureF(Capture):
    """A recorded operation with named operands (``kwargs``)."""

    def __init__(self, ctx: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.ctx = {"operations": [], "variables": []} if ctx is None else ctx
        self.kwargs = kwargs


class CaptureA(CaptureF):
    """A stand-in for a function whose calls are recorded."""

    def __str__(self) -> str:
        return f"{self.kwargs['name']}"

    def execute(self) -> Any:
        return self.kwargs["real_attribute"]


class CaptureLikeMock:
    """Context manager in which calls of the function of this dotted name are recorded."""

    def __init__(self, name: str) -> None:
        target, _, self.attribute = name.rpartition(".")
        if not target:
            raise TypeError(f"Need a valid target to patch. You supplied: {name!r}")
        self.get_target: Callable[[], Any] = lambda: _found(target)
        self.name = name

    def __enter__(self) -> None:
        self.save = getattr(self.get_target(), self.attribute)
        setattr(self.get_target(), self.attribute, CaptureA(name=self.name, real_attribute=self.save))

    def __exit__(self, *exc_info: Any) -> None:
        setattr(self.get_target(), self.attribute, self.save)


def _found(name: str) -> Any:
    """Return the object of a dotted name, the first parts of which are modules."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    return found


class CaptureCall(Capture):
    """A recorded call of a captured object."""

    def __init__(self, callable: Any, ctx: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.ctx = {"operations": [], "variables": []} if ctx is None else ctx
        self.kwargs = kwargs
        self.callable = callable

    def __str__(self) -> str:
        return f"{self.callable}({self.kwargs['args']},{self.kwargs['kwargs']})"

    def execute(self) -> Any:
        args = [arg.execute() if isinstance(arg, Capture) else arg for arg in self.kwargs["args"]]
        return get_val(self.callable)(*args, **self.kwargs["kwargs"])


class CaptureVariableAssign(CaptureF):
    """A recorded assignment to a variable."""

    def __str__(self) -> str:
        return f"{self.kwargs['variable']} = {self.kwargs['value']}"

    def execute(self) -> None:
        self.kwargs["variable"].calculated_value = self.kwargs["value"].execute()


class CaptureVariable(Capture):
    """A variable with a unique name. Raises RuntimeError after ``disable_capture``."""

    names_idx = 0

    def __init__(self, value: Any, ctx: dict[str, Any]) -> None:
        if CaptureControl.disabled:
            raise RuntimeError("Attempting to create capture variable with capture off")
        self.ctx = ctx
        self.value = value
        self.name = f"var_{CaptureVariable.names_idx}"
        CaptureVariable.names_idx += 1
        self.ctx["variables"].append(self)

    def __str__(self) -> str:
        return self.name

    def execute(self) -> Any:
        return self.calculated_value

    def apply_ops(self, dataframe: Any) -> Any:
        """Run the recorded operations on a frame, and return the variable's value."""
        self.apply_ops_2(dataframe)
        return self.calculated_value


class CaptureGetItem(Capture):
    """A recorded ``left[key]``."""

    def __init__(self, left: Any, key: str, ctx: dict[str, Any]) -> None:
        self.ctx = ctx
        self.left = left
        self.key = key

    def __str__(self) -> str:
        return f"{self.left}[{get_val(self.key)}]"

    def execute(self) -> Any:
        return self.left.execute()[self.key]


class CaptureSetItem(Capture):
    """A recorded ``left[key] = value``."""

    def __init__(self, left: Any, key: str, value: Any, ctx: dict[str, Any]) -> None:
        self.ctx = ctx
        self.left = left
        self.key = key
        self.value = value

    def __str__(self) -> str:
        return f"{self.left}[{get_val(self.key)}] = {self.value}"

    def execute(self) -> None:
        left = self.left.execute()
        left[self.key] = self.value.execute()


class _Arithmetic(Capture):
    """A recorded binary operation."""

    symbol: str
    compute: Callable[[Any, Any], Any]

    def __init__(self, left: Any, right: Any, ctx: dict[str, Any]) -> None:
        self.ctx = ctx
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} {self.symbol} {self.right}"

    def execute(self) -> Any:
        return type(self).compute(get_val(self.left), get_val(self.right))


class CaptureAdd(_Arithmetic):
    """A recorded sum."""

    symbol = "+"
    compute = staticmethod(operator.add)


class CaptureMul(_Arithmetic):
    """A recorded product."""

    symbol = "*"
    compute = staticmethod(operator.mul)


class CaptureSub(_Arithmetic):
    """A recorded difference."""

    symbol = "-"
    compute = staticmethod(operator.sub)


class CaptureGetAttr(Capture):
    """A recorded ``src.name``."""

    def __init__(self, src: Any, name: str, ctx: dict[str, Any]) -> None:
        self.ctx = ctx
        self.src = src
        self.name = name

    def __str__(self) -> str:
        return f"{self.src}.{self.name}"

    def execute(self) -> Any:
        return getattr(get_val(self.src), self.name)


def get_val(capture: Any) -> Any:
    """Return the value of a deferred operation, a string in quotes, or any other object unchanged."""
    if isinstance(capture, Capture):
        return capture.execute()
    return f'"{capture}"' if isinstance(capture, str) else capture


class CaptureInitial(CaptureVariable):
    """The variable that holds each incoming frame, with its own context."""

    def __init__(self, schema_df: Any = None) -> None:
        super().__init__(None, _context(schema_df))
        self.name = f"input_{self.name}"


class CaptureDataFrame(CaptureInitial):
    """A deferred data frame."""


class CaptureDataFrameWithDataPipeOps(CaptureDataFrame):
    """A deferred data frame with its source datapipe."""

    def as_datapipe(self) -> DataFrameTracedOps:
        """Return a datapipe of frames on which the recorded operations are run."""
        return DataFrameTracedOps(self.ctx["variables"][0].source_datapipe, self)

    def raw_iterator(self) -> Iterator[Any]:
        """Iterate over the source's frames."""
        return iter(self.as_datapipe())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dataframes_as_tuples())

    def batch(self, batch_size: int = 10, drop_last: bool = False, wrapper_class: Any = DataChunkDF) -> Any:
        """Return a datapipe of batches of rows."""
        rows = self._dataframes_per_row()._dataframes_concat(batch_size)
        pipe = rows.as_datapipe().batch(1, drop_last=drop_last, wrapper_class=wrapper_class)
        pipe._dp_contains_dataframe = True
        return pipe

    def groupby(
        self,
        group_key_fn: Any,
        *,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> Any:
        """Return a datapipe of groups of rows."""
        return (
            self._dataframes_per_row()
            .as_datapipe()
            .groupby(
                group_key_fn,
                buffer_size=buffer_size,
                group_size=group_size,
                guaranteed_group_size=guaranteed_group_size,
                drop_remaining=drop_remaining,
            )
        )

    def shuffle(self, *args: Any, **kwargs: Any) -> Any:
        """Return a pipe of the rows in random order."""
        return self._dataframes_shuffle(*args, **kwargs)

    def filter(self, *args: Any, **kwargs: Any) -> Any:
        """Return a datapipe of the rows that satisfy a predicate."""
        return self._dataframes_filter(*args, **kwargs)

    def collate(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise RuntimeError: unbatched frames cannot be collated."""
        raise RuntimeError("Can't collate unbatched DataFrames stream")

    def __getattr__(self, attrname: str) -> Any:
        if attrname in UNIMPLEMENTED_ATTR:
            raise AttributeError("Attempting to get ", attrname)
        if attrname in DATAPIPES_OPS:
            return getattr(self.as_datapipe(), attrname)
        return super().__getattr__(attrname)


@functional_datapipe("trace_as_dataframe")
class DataFrameTracer(CaptureDataFrameWithDataPipeOps, IterDataPipe[Any]):
    """A datapipe of frames that records operations; without ``schema_df`` the first frame is read for its columns.

    (functional name: ``trace_as_dataframe``)
    """

    source_datapipe: Any = None

    def set_shuffle_settings(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: rows are shuffled by a separate datapipe."""

    def is_shardable(self) -> bool:
        """Return False."""
        return False

    def __init__(self, source_datapipe: Any, schema_df: Any = None) -> None:
        self.source_datapipe = source_datapipe
        super().__init__(schema_df=next(iter(source_datapipe)) if schema_df is None else schema_df)
