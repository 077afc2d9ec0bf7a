"""Datapipes: datasets that are composed by methods with short names."""

from __future__ import annotations

import functools
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ..._import_utils import dill_available, import_dill
from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState
from ._typing import _DataPipeMeta, _IterDataPipeMeta
from .utils.common import _deprecation_warning, _iter_deprecated_functional_names, _map_deprecated_functional_names

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

HAS_DILL = dill_available()

# These yield chunks or rows, or do the tracing themselves, so that their items are not traced.
UNTRACABLE_DATAFRAME_PIPES = ["batch", "groupby", "_dataframes_as_tuples", "trace_as_dataframe"]


class DataChunk(list[_T]):
    """A batch: a list that can also iterate over its original items (``raw_iterator``)."""

    def __init__(self, items: Iterable[_T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """Return the items in brackets, indented by ``indent``."""
        return f"{indent}[{', '.join(str(item) for item in self)}]"

    def __iter__(self) -> Iterator[_T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[_T]:
        """Iterate over the original items."""
        yield from self.items


class _Pipe:
    """Base of iterable and map-style datapipes: functional forms, pickling and printing hooks.

    ``functions`` and the hooks are looked up on IterDataPipe and MapDataPipe themselves, so that all subclasses share them.
    """

    functions: dict[str, Callable[..., Any]] = {}
    reduce_ex_hook: Callable[..., Any] | None = None
    getstate_hook: Callable[..., Any] | None = None
    str_hook: Callable[..., Any] | None = None
    repr_hook: Callable[..., Any] | None = None
    _deprecated_names: dict[str, dict[str, Any]] = {}

    @staticmethod
    def _root() -> Any:
        raise NotImplementedError

    def __getattr__(self, attribute_name: str) -> Any:
        functions = self._root().functions
        if attribute_name not in functions:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        if attribute_name in self._deprecated_names:
            _deprecation_warning(**self._deprecated_names[attribute_name])
        function = functions[attribute_name]
        bound = functools.partial(function, self)
        functools.update_wrapper(bound, function, assigned=("__doc__",))
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Register a method of all datapipes with this base class."""
        cls.functions[function_name] = function

    def __getstate__(self) -> dict[Any, Any]:
        """Return the attributes, passed through ``getstate_hook`` if set."""
        hook = self._root().getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = self._root().reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set a hook that transforms the pickled state. Raise RuntimeError if there is one."""
        root = cls._root()
        if root.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        root.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set a hook that replaces the datapipe when pickled. Raise RuntimeError if there is one."""
        root = cls._root()
        if root.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        root.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        return type(self).__qualname__ if self.repr_hook is None else self.repr_hook(self)

    def __str__(self) -> str:
        return type(self).__qualname__ if self.str_hook is None else self.str_hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class PartlyKept(_Pipe):
    """A datapipe whose pickled state is the attributes named in ``_kept``, in this order."""

    _kept: tuple[str, ...]

    def __getstate__(self) -> Any:
        """Return a tuple of the attributes in ``_kept``, passed through ``getstate_hook`` if set."""
        state = tuple(getattr(self, name) for name in self._kept)
        hook = self._root().getstate_hook
        return state if hook is None else hook(state)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self._kept, state, strict=True):
            setattr(self, name, value)
        self._restored()

    def _restored(self) -> None:
        """Recreate attributes that are not pickled."""


class Shuffling(PartlyKept):
    """A datapipe with its own random generator, whose state is pickled."""

    _rng: random.Random

    @property
    def _rng_state(self) -> tuple[Any, ...]:
        return self._rng.getstate()

    @_rng_state.setter
    def _rng_state(self, state: tuple[Any, ...]) -> None:
        self._rng = random.Random()
        self._rng.setstate(state)


PASS = ("_valid_iterator_id", "_number_of_samples_yielded")
"""Attributes of an iteration that every pickle contains."""


def _free(functions: dict[str, Callable[..., Any]], name: str) -> None:
    if name in functions:
        raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")


def _functional_form(make: Callable[..., Any], cls_to_register: Any) -> Callable[..., Any]:
    return functools.update_wrapper(make, cls_to_register, assigned=("__doc__",))


class IterDataPipe(_Pipe, IterableDataset[_T_co], metaclass=_IterDataPipeMeta):
    """An iterable datapipe; a subclass defines ``__iter__``, and ``reset`` if it keeps a state between samples.

    ``iter()`` resets the datapipe and invalidates all its earlier iterators, which then raise RuntimeError. All datapipes have the methods
    that ``functional_datapipe`` registers: ``pipe.map(fn).batch(2)``.
    """

    functions: dict[str, Callable[..., Any]] = {}
    _deprecated_names = _iter_deprecated_functional_names
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: _SnapshotState = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    @staticmethod
    def _root() -> type:
        return IterDataPipe

    def __iter__(self) -> Iterator[_T_co]:
        return self

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Register a datapipe class as a method of all iterable datapipes. Raise Exception if the name is taken."""
        _free(cls.functions, function_name)

        def make(cls: Any, enable_df_api_tracing: bool, source_dp: Any, *args: Any, **kwargs: Any) -> Any:
            pipe = cls(source_dp, *args, **kwargs)
            traced = enable_df_api_tracing or isinstance(source_dp, DFIterDataPipe)
            if isinstance(pipe, IterDataPipe) and traced and function_name not in UNTRACABLE_DATAFRAME_PIPES:
                return pipe.trace_as_dataframe()
            return pipe

        form = functools.partial(make, cls_to_register, enable_df_api_tracing)
        cls.functions[function_name] = _functional_form(form, cls_to_register)

    def reset(self) -> None:
        """Clear the state of an earlier iteration; called by each ``iter()``."""


class DFIterDataPipe(IterDataPipe[Any]):
    """An iterable datapipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[_T_co], metaclass=_DataPipeMeta):
    """A map-style datapipe; a subclass defines ``__getitem__`` and usually ``__len__``.

    All such datapipes have the methods that ``functional_datapipe`` registers: ``pipe.map(fn).batch(2)``.
    """

    functions: dict[str, Callable[..., Any]] = {}
    _deprecated_names = _map_deprecated_functional_names

    @staticmethod
    def _root() -> type:
        return MapDataPipe

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any) -> None:
        """Register a datapipe class as a method of all map-style datapipes. Raise Exception if the name is taken."""
        _free(cls.functions, function_name)

        def make(cls: Any, source_dp: Any, *args: Any, **kwargs: Any) -> Any:
            return cls(source_dp, *args, **kwargs)

        form = functools.partial(make, cls_to_register)
        cls.functions[function_name] = _functional_form(form, cls_to_register)


class _DataPipeSerializationWrapper:
    """A wrapper for sending a datapipe to a worker: pickled by pickle, or by dill if pickle fails."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> tuple[bytes, bool]:
        try:
            return pickle.dumps(self._datapipe), False
        except Exception:
            dill: Any = import_dill()
            if dill is None:
                raise
            return dill.dumps(self._datapipe), True

    def __setstate__(self, state: tuple[bytes, bool]) -> None:
        value, use_dill = state
        library: Any = import_dill() if use_dill else pickle
        self._datapipe = library.loads(value)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    def __init__(self, datapipe: IterDataPipe[_T_co]) -> None:
        super().__init__(datapipe)
        self._datapipe_iter: Iterator[Any] | None = None

    def __iter__(self) -> _IterDataPipeSerializationWrapper:
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self) -> Any:
        if self._datapipe_iter is None:
            raise AssertionError("Iterator has not been initialized; call __iter__() before __next__()")
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, idx: Any) -> int:
        return self._datapipe[idx]
