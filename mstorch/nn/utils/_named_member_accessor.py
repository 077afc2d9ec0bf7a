"""torch.nn.utils._named_member_accessor: access to a module's tensors and submodules by dotted name."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..._tensor import Tensor
from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()  # no tensor


def _check_name(name: str, what: str) -> None:
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def _check_module(module: Module) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Replace a parameter, a buffer or another attribute by a tensor, without conversion."""
    _check_module(module)
    if not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name, "tensor")
    homes: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    for home in homes:
        if name in home:
            home[name] = tensor
            return
    setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replace a module's tensor and return the old one. ``_MISSING`` as ``tensor`` removes it; with ``allow_missing``, ``_MISSING`` is
    returned if there was none."""
    _check_module(module)
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name, "tensor")
    for home in (module._parameters, module._buffers):
        if name in home:
            before = home[name]
            if tensor is _MISSING:
                del home[name]
            else:
                home[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif hasattr(module, name):
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Replace a submodule and return the old submodule."""
    _check_module(module)
    _check_module(submodule)
    _check_name(name, "submodule")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Reads and replaces the tensors and submodules of a module by their dotted names."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        """Return the submodule at a dotted name; "" is the module itself."""
        if not name:
            return self.module
        if name not in self.memo:
            prefix, _, last = name.rpartition(".")
            home = self.get_submodule(prefix)
            try:
                found = getattr(home, last)
            except AttributeError:
                raise AttributeError(f"{self.module._get_name()} has no attribute `{name}`") from None
            _check_module(found)
            self.memo[name] = found
        return self.memo[name]

    def home(self, name: str) -> tuple[Module, str]:
        """Return the module that owns a dotted name, and the name's last component."""
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Replace the submodule at a path and return the old submodule."""
        home, last = self.home(path)
        return swap_submodule(home, last, value)

    def get_tensor(self, name: str) -> Any:
        """Return the tensor at a dotted name. Raise TypeError if it is not a tensor."""
        home, last = self.home(name)
        try:
            found = getattr(home, last)
        except AttributeError:
            raise AttributeError(f"{home._get_name()} has no attribute `{name}`") from None
        if not isinstance(found, Tensor) and found is not None:
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Replace the tensor at a dotted name."""
        home, last = self.home(name)
        set_tensor(home, last, value)

    def del_tensor(self, name: str) -> None:
        """Remove the tensor at a dotted name."""
        home, last = self.home(name)
        swap_tensor(home, last, _MISSING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Replace the tensor at a dotted name and return the old tensor."""
        home, last = self.home(name)
        return swap_tensor(home, last, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """Return the tensors at several names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Replace the tensors at several names. Raise AssertionError if the number of values differs."""
        for name, value in _paired(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """Replace the tensors given as a dict by name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove the tensors at several names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Replace the tensors at several names and return the old ones."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in _paired(names, values)]

    def swap_tensors_dict(self, named_tensors: dict[str, Any], allow_missing: bool = False) -> tuple[dict[str, Any], list[str]]:
        """Replace the tensors given as a dict by name; return the old ones and the missing names.

        If RuntimeError is raised for missing names, nothing is changed.
        """
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, tensor in named_tensors.items():
                found = self.swap_tensor(name, tensor, allow_missing=True)
                before[name] = found
                if found is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names of tensors that are missing from the keys, and the keys that name no tensor."""
        given = set(keys)
        known = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(known - given), sorted(given - known)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the module's parameters with their names."""
        return self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the module's buffers with their names."""
        return self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the parameters, then the buffers, with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield the module and its descendants with their names."""
        return self.module.named_modules(remove_duplicate=remove_duplicate)


def _paired(names: Iterable[str], values: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(f"names and values must have the same length, got {len(names)} names and {len(values)} values")
    return zip(names, values)
