"""Hooks on a datapipe's ``__iter__``: one valid iterator per datapipe, sample counts, names in profiles and errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any

from ...._src.backend.errors import TOLD, about, telling
from ....autograd._recorder import running
from ....autograd.profiler import record_function


class _SnapshotState(Enum):
    """The state of a datapipe between iterations.

    In the states NotStarted and Iterating, a snapshot may be restored, and ``iter()`` resets the datapipe. In the state Restored, no other
    snapshot may be restored; the next ``iter()`` does not reset the datapipe and changes the state to Iterating."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free "
    "to comment on this issue: https://github.com/pytorch/data/issues/45."
)


def _left(text: str) -> RuntimeError:
    """Return the error for an iterator invalidated by a newer one, marked so that ``_tell_where`` does not extend its message."""
    return telling(RuntimeError(text + _FEEDBACK), TOLD)


def _simplify_obj_name(obj: Any) -> str:
    return obj.__name__ if inspect.isfunction(obj) else repr(obj)


def _strip_datapipe_from_name(name: str) -> str:
    return name.replace("IterDataPipe", "").replace("MapDataPipe", "")


def _generate_input_args_string(obj: Any) -> str:
    """Return the constructor arguments that the object keeps, as sorted "name=value"."""
    wanted = set(inspect.signature(type(obj)).parameters)
    kept = [(name, value) for name, value in inspect.getmembers(obj) if name in wanted]
    return ", ".join(f"{name}={_simplify_obj_name(value)}" for name, value in kept)


def _generate_iterdatapipe_msg(datapipe: Any, simplify_dp_name: bool = False) -> str:
    text = f"{type(datapipe).__name__}({_generate_input_args_string(datapipe)})"
    return _strip_datapipe_from_name(text) if simplify_dp_name else text


def _gen_invalid_iterdatapipe_msg(datapipe: Any) -> str:
    return (
        "This iterator has been invalidated because another iterator has been created "
        f"from the same IterDataPipe: {_generate_iterdatapipe_msg(datapipe)}\n"
        "This may be caused by multiple references to the same IterDataPipe. We recommend "
        "using `.fork()` if that is necessary."
    )


def _is_child(datapipe: Any) -> bool:
    return hasattr(datapipe, "_is_child_datapipe") and datapipe._is_child_datapipe is True


def _check_iterator_valid(datapipe: Any, iterator_id: int | None, next_method_exists: bool = False) -> None:
    """Raise RuntimeError if a newer iterator, of this datapipe or of another child of the same source, has invalidated this iterator."""
    if next_method_exists:
        if datapipe._valid_iterator_id is not None and datapipe._valid_iterator_id != 0:
            inside = "\nNote that this exception is raised inside your IterDataPipe's a `__next__` method"
            raise _left(_gen_invalid_iterdatapipe_msg(datapipe) + inside)
        return
    if not _is_child(datapipe):
        if datapipe._valid_iterator_id != iterator_id:
            raise _left(_gen_invalid_iterdatapipe_msg(datapipe))
        return
    if not hasattr(datapipe, "_check_valid_iterator_id"):
        raise RuntimeError("ChildDataPipe must have method `_check_valid_iterator_id`.")
    if not datapipe._check_valid_iterator_id(iterator_id):
        raise _left(
            "This iterator has been invalidated, because a new iterator has been created "
            f"from one of the ChildDataPipes of {_generate_iterdatapipe_msg(datapipe.main_datapipe)}."
        )


def _set_datapipe_valid_iterator_id(datapipe: Any) -> int:
    """Make the new iterator the valid one, reset the datapipe, and return the iterator's number."""
    if not _is_child(datapipe):
        last = datapipe._valid_iterator_id
        datapipe._valid_iterator_id = 0 if last is None else last + 1
        datapipe.reset()
    elif hasattr(datapipe, "_set_main_datapipe_valid_iterator_id"):
        # This resets the source if necessary.
        datapipe._set_main_datapipe_valid_iterator_id()
    else:
        raise RuntimeError("ChildDataPipe must have method `_set_main_datapipe_valid_iterator_id`.")
    return datapipe._valid_iterator_id


def _measured(datapipe: Any, profiled: bool, step: Callable[[], Any]) -> Any:
    """Call ``step``, recorded under the datapipe's name if a profiler runs."""
    if not profiled:
        return step()
    if not hasattr(datapipe, "_profile_name"):
        datapipe._profile_name = _generate_iterdatapipe_msg(datapipe, simplify_dp_name=True)
    with record_function(datapipe._profile_name):
        return step()


class IteratorDecorator:
    """The iterator of a datapipe whose ``__iter__`` is not a generator function, checked and counted."""

    def __init__(self, iterator: Any, datapipe: Any, iterator_id: int, has_next_method: bool) -> None:
        self.iterator = iterator
        self.datapipe = datapipe
        self.iterator_id = iterator_id
        self._profiler_enabled = bool(running())
        # The `__next__` of such a datapipe counts its samples itself.
        self.self_and_has_next_method = iterator is datapipe and has_next_method

    def __iter__(self) -> IteratorDecorator:
        return self

    def _get_next(self) -> Any:
        _check_iterator_valid(self.datapipe, self.iterator_id)
        result = next(self.iterator)
        if not self.self_and_has_next_method:
            self.datapipe._number_of_samples_yielded += 1
        return result

    def __next__(self) -> Any:
        return _measured(self.datapipe, self._profiler_enabled, self._get_next)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


def _tell_where(error: Exception, datapipe: Any) -> None:
    """Append the datapipe's name and arguments to the error's message, unless a source datapipe has appended its own."""
    where = f"thrown by __iter__ of {type(datapipe).__name__}({_generate_input_args_string(datapipe)})"
    if about(error) is TOLD or not hasattr(error.args, "__len__"):
        return
    message, *rest = error.args or ("",)
    error.args = (f"{message}\nThis exception is {where}", *rest) if isinstance(message, str) else (f"\nThis exception is {where}",)
    telling(error, TOLD)


def _hooked_generator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        source = function(*args, **kwargs)
        datapipe = args[0]
        if datapipe._fast_forward_iterator is not None:
            restored, datapipe._fast_forward_iterator = datapipe._fast_forward_iterator, None
            datapipe._snapshot_state = _SnapshotState.Iterating
            yield from restored
            return
        iterator_id = _set_datapipe_valid_iterator_id(datapipe)
        profiled = bool(running())

        def step(request: Any) -> Any:
            _check_iterator_valid(datapipe, iterator_id)
            return source.send(request)

        try:
            response = _measured(datapipe, profiled, lambda: source.send(None))
            while True:
                datapipe._number_of_samples_yielded += 1
                request = yield response
                response = _measured(datapipe, profiled, functools.partial(step, request))
        except StopIteration:
            return
        except Exception as error:
            _tell_where(error, datapipe)
            raise

    return hooked


def _hooked_next(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        datapipe = args[0]
        result = _measured(datapipe, bool(running()), lambda: function(*args, **kwargs))
        datapipe._number_of_samples_yielded += 1
        return result

    return hooked


def _hooked_iter(function: Callable[..., Any], has_next_method: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def hooked(*args: Any, **kwargs: Any) -> IteratorDecorator:
        iterator = function(*args, **kwargs)
        datapipe = args[0]
        datapipe._snapshot_state = _SnapshotState.Iterating
        if datapipe._fast_forward_iterator is not None:
            iterator, datapipe._fast_forward_iterator = datapipe._fast_forward_iterator, None
            return iterator
        iterator_id = _set_datapipe_valid_iterator_id(datapipe)
        return IteratorDecorator(iterator, datapipe, iterator_id, has_next_method)

    return hooked


def hook_iterator(namespace: dict[str, Any]) -> None:
    """Wrap ``__iter__``, and ``__next__`` if defined, in the namespace of a class under construction."""
    function = namespace["__iter__"]
    if inspect.isgeneratorfunction(function):
        namespace["__iter__"] = _hooked_generator(function)
        return
    if "__next__" in namespace:
        namespace["__next__"] = _hooked_next(namespace["__next__"])
    namespace["__iter__"] = _hooked_iter(function, "__next__" in namespace)
