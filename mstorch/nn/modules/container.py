"""Containers of modules and parameters."""
from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, overload

from typing_extensions import Self, deprecated

from ..._src.core.settings import typename
from ..._src.core.tensor_base import TensorBase
from ..._tensor import Tensor
from ..parameter import Parameter
from .module import Module


def _addindent(text: str, spaces: int) -> str:
    """Indent all lines but the first. A list of modules indents blank lines too, unlike a module."""
    return text.replace("\n", "\n" + " " * spaces)


def _position(index: int, length: int, name: str = "index") -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"{name} {index} is out of range")
    return index % length


@deprecated(
    "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
    category=FutureWarning,
)
class Container(Module):
    """A module with children given by name. Deprecated as in torch, with a FutureWarning: ``Module.add_module`` suffices."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Calls modules in sequence, each with the result of the previous one."""

    @overload
    def __init__(self, *args: Module) -> None: ...

    @overload
    def __init__(self, arg: OrderedDict[str, Module]) -> None: ...

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def _get_item_by_idx(self, iterator: Iterable[Any], idx: int) -> Any:
        return next(itertools.islice(iterator, _position(idx, len(self)), None))

    def _renumber(self) -> None:
        numbered = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))
        self._modules.clear()
        self._modules.update(numbered)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            named: Any = list(self._modules.items())[idx]
            return self.__class__(OrderedDict(named))
        return self._modules[self._get_item_by_idx(self._modules, idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_item_by_idx(self._modules, idx), module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._get_item_by_idx(self._modules, idx)]
        for name in names:
            delattr(self, name)
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def pop(self, key: Any) -> Module:
        """Remove and return a module."""
        module = self[key]
        del self[key]
        return module

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*(module for _ in range(other) for module in self))

    def __rmul__(self, other: int) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: int) -> Self:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return self.extend(list(self) * (other - 1))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def forward(self, input: Any) -> Any:
        """Return the result of the last module."""
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> Self:
        """Append a module; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before index ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + count if index < 0 else index, module)
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Append the modules of another Sequential; return the container."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules that are registered as children."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_position(idx, len(self)))

    @overload
    def __getitem__(self, idx: slice) -> Self: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            modules: Any = list(self._modules.values())[idx]
            return self.__class__(modules)
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]
        for name in names:
            delattr(self, name)
        self._fill(list(self._modules.values()))

    def _fill(self, modules: list[Any]) -> None:
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        combined = ModuleList()
        for i, module in enumerate(itertools.chain(self, other)):
            combined.add_module(str(i), module)
        return combined

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        if not texts:
            return self._get_name() + "()"
        blocks: list[tuple[int, int, str]] = []
        for i, text in enumerate(texts):
            if blocks and blocks[-1][2] == text:
                blocks[-1] = (blocks[-1][0], i, text)
            else:
                blocks.append((i, i, text))
        lines = []
        for first, last, text in blocks:
            line = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(_addindent(line, 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before index ``index``."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._fill(modules)

    def pop(self, key: Any) -> Module:
        """Remove and return a module."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module | None) -> Self:
        """Append a module; return the list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Append modules; return the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    """A dict of modules that are registered as children."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]  # type: ignore[return-value]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return a module."""
        return self._modules.pop(key)  # type: ignore[return-value]

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return the names and modules."""
        return self._modules.items()  # type: ignore[return-value]

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()  # type: ignore[return-value]

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        for key, module in _pairs(modules, "ModuleDict", "module dictionary"):
            self[key] = module


def _pairs(values: dict[Any, Any], name: str, what: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(values, Iterable):
        raise TypeError(f"{name}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}")
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        yield from values.items()
        return
    for number, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is {type(pair).__name__}")
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{number} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


def _described(value: Any, named: Callable[[Any], Any] = lambda tensor: tensor.dtype) -> str:
    if not isinstance(value, TensorBase):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.size())
    return f"{kind} containing: [{named(value)} of size {size}]"


class ParameterList(Module):
    """A list of parameters; tensors become Parameters, other values are kept unchanged."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_position(idx, len(self)))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        if isinstance(param, TensorBase) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, self._get_abs_string_index(idx), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Append a value; return the list."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Append values; return the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return one line per value for the module's repr."""
        return "\n".join(f"  ({i}): {_described(value)}" for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters; tensors become Parameters, other values are kept unchanged."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is '"
                + type(key).__name__
                + "'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        if isinstance(value, TensorBase) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._key_to_attr(key), value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def copy(self) -> ParameterDict:
        """Return a shallow copy."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def setdefault(self, key: str, default: Any | None = None) -> Any:
        """Return the value of a key, setting it to ``default`` if missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last key and value."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any | None = None) -> Any:
        """Return the value of a key, or ``default``."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any | None = None) -> ParameterDict:
        """Return a dictionary with one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Any:
        """Return keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Any:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping (a plain one sorted by key) or from pairs."""
        pairs = list(_pairs(parameters, "ParameterDict", "parameter dictionary"))
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """Return one line per value for the module's repr."""
        return "\n".join(f"  ({key}): {_described(value, typename)}" for key, value in self.items())

    def __call__(self, input: Any) -> None:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
