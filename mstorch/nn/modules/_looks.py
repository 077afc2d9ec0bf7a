"""Module's behaviour for Python's own tools: signatures, ``dir``, truth value, unpickling."""
from __future__ import annotations

import copyreg
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..._src.core.warned import warn
from ..._tensor import Tensor

_HOME = __name__.partition(".")[0]


class Signature:
    """The ``__signature__`` of classes without a constructor signature of their own: the signature of ``__init__``.

    ``inspect`` would find ``__new__`` first, in Python 3.10 for all classes, and Cell's ``__new__`` accepts any arguments. Instances do not
    have this signature: theirs is that of their call.
    """

    def __get__(self, module: Any, owner: type) -> inspect.Signature:
        own = next(base for base in owner.__mro__ if "__init__" in vars(base))
        ours = own.__module__.startswith((_HOME, "torch."))
        new: Any = next(vars(base)["__new__"] for base in owner.__mro__ if "__new__" in vars(base))
        modules = getattr(new.__func__, "__globals__", {}).get("__name__") == __name__.replace("._looks", ".module")
        if module is not None or not modules or (not ours and sys.version_info >= (3, 11)):
            raise AttributeError("__signature__")
        shown = _read(vars(own)["__init__"], ours)
        if sys._getframe(1).f_locals.get("skip_bound_arg") is False:  # inspect.getfullargspec, which includes self
            return shown
        return shown.replace(parameters=list(shown.parameters.values())[1:])


def _read(function: Callable[..., Any], evaluated: bool) -> inspect.Signature:
    """Return a function's signature, with annotations evaluated if possible."""
    try:
        return inspect.signature(function, eval_str=evaluated)
    except NameError:  # a name that is imported for type checkers only
        return inspect.signature(function)


class LooksMixin:
    """Module's behaviour for Python's tools, without MindSpore's names."""

    __signature__ = Signature()
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    if TYPE_CHECKING:
        __dict__: dict[str, Any]
        forward: Callable[..., Any]
        _call_impl: Callable[..., Any]
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _modules: dict[str, Any]

    # Replaces Cell's, which is a Python function: an interrupt at its start would be lost. Cell's frees the graphs that MindSpore's
    # compiler made of a Cell; it makes none of a Module.
    __del__ = object.__sizeof__

    def __bool__(self) -> bool:
        # Cell's returns True, torch's Module defines none: containers use their length.
        length = getattr(type(self), "__len__", None)
        return length is None or length(self) != 0

    def __dir__(self) -> list[str]:
        names = set(dir(type(self)))
        names.update(self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if _is_copied(name, value)}

    def __reduce__(self) -> tuple[Any, ...]:
        # Python's default calls ``object.__new__``, which cannot make a Cell, or that of the base class in C++, which crashes
        # the process.
        return *_way_back(self), self.__getstate__()

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        own = type(self).__reduce__ is not LooksMixin.__reduce__
        return self.__reduce__() if own or protocol < 2 else (*_way_back(self), self.__getstate__(), None, None)

    # Private methods of torch's Module that programs call nevertheless.

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Tensor:
        compiled = self.__dict__.get("_compiled_call_impl")
        return self._call_impl(*args, **kwargs) if compiled is None else compiled(*args, **kwargs)

    def _slow_forward(self, *input: Tensor, **kwargs: Any) -> Tensor:
        return self.forward(*input, **kwargs)

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """Return the backward hooks of this module together with the global ones, as two groups: the full hooks, and the deprecated hooks.
        """
        hooks, full = list(self.__dict__["_backward_hooks"].values()), self.__dict__["_is_full_backward_hook"]
        return (hooks, []) if full is True else ([], hooks) if full is False else ([], [])

    def _get_backward_pre_hooks(self) -> list[Any]:
        return list(self.__dict__["_backward_pre_hooks"].values())

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
        parts = (inputs if isinstance(inputs, tuple) else (inputs,)), (result if isinstance(result, tuple) else (result,))
        if len(parts[0]) > 1 or len(parts[1]) > 1:
            warn(
                "Using a non-full backward hook on a Module that takes several inputs or gives several outputs is deprecated: the hook "
                "sees some of the gradients. Use register_full_backward_hook.", FutureWarning,
            )  # fmt: skip

    def _replicate_for_data_parallel(self) -> Any:
        """Return a module of the same class with copies of its dicts and without parameters, which DataParallel then sets."""
        replica = type(self).__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica.__dict__.update(_parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(), _is_replica=True)
        return replica


def _way_back(module: Any) -> tuple[Any, ...]:
    """Return a function and its arguments, which reconstruct the module without its state when it is unpickled, as in ``__reduce_ex__``."""
    cls: Any = type(module)
    if hasattr(cls, "__getnewargs_ex__"):
        args, kwargs = module.__getnewargs_ex__()
        return copyreg.__newobj_ex__, (cls, args, kwargs)  # type: ignore[attr-defined]
    given = module.__getnewargs__() if hasattr(cls, "__getnewargs__") else ()
    return copyreg.__newobj__, (cls, *given)  # type: ignore[attr-defined]


# Graphs and native parameters, which a copy creates anew.
_NOT_COPIED = frozenset(("_compiled_call_impl", "_graphs", "_native_members"))


def _is_copied(name: str, value: Any) -> bool:
    return name not in _NOT_COPIED and not (name == "_compile_cache" and type(value) is set)  # set by MindSpore's compiler
