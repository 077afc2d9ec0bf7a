"""Helpers of Module's methods: which attribute names exist already, and which attributes are MindSpore's."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._src.backend.cell import is_parameter
from ..parameter import set_data
from ._cell_names import is_free
from ._names import torchs_name
from ._native import has_native, is_buffer, native_state

_MEMBERS = ("_parameters", "_buffers", "_modules")


class OwnMixin:
    """Module's private helpers."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _non_persistent_buffers_set: set[str]
        get_submodule: Callable[..., Any]

    def _mstorch_taken(self, name: str) -> bool:
        if torchs_name(self, name) is not None and not self._mstorch_has(name):
            return False
        return hasattr(self, name) and not is_free(self, name)

    def _mstorch_has(self, name: str) -> bool:
        """Return True if the layer has an attribute, parameter, buffer or child of this name; False for MindSpore's aliases."""
        members = self.__dict__
        return name in members or any(name in members.get(kind, ()) for kind in _MEMBERS) or hasattr(type(self), name)

    def _mstorch_set_data(self, name: str, raw: Any) -> bool:
        """Copy a MindSpore tensor's values into the parameter or buffer of this name, as a Cell does; return False if the module has
        neither.
        """
        members = self.__dict__
        known = None if is_parameter(raw) else members.get("_parameters", {}).get(name)
        known = members.get("_buffers", {}).get(name) if known is None else known
        if known is not None:
            set_data(known, raw)
        return known is not None

    def _mstorch_forget(self, name: str, *kinds: str) -> None:
        self.__dict__.pop(name, None)
        for kind in kinds:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _mstorch_own_parameters(self) -> Any:
        own = self._parameters.items()
        return [*own, *((n, t) for n, t in native_state(self) if not is_buffer(n, t))] if has_native(self) else own

    def _mstorch_own_buffers(self) -> Any:
        own = self._buffers.items()
        return [*own, *((n, t) for n, t in native_state(self) if is_buffer(n, t))] if has_native(self) else own

    def _mstorch_member_at(self, target: str, kind: type, words: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        member = getattr(module, name)
        if not isinstance(member, kind):
            raise AttributeError(f"`{name}` is not {words}")
        return member
