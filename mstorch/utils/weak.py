"""torch.utils.weak: weak references to tensors, compared by identity."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any
from weakref import ref

from .._tensor import Tensor


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that hashes and compares by the object's identity."""

    __slots__ = ("_id",)
    _id: int

    def __new__(cls, key: Any, callback: Any = None) -> Any:
        made = super().__new__(cls, key, callback)
        made._id = id(key)
        return made

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return mine is others if mine is not None and others is not None else self is other


class WeakIdKeyDictionary(MutableMapping):  # type: ignore[type-arg]
    """A dict keyed by object identity, whose entries vanish when the key is no longer referenced."""

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: dict[Any, Any] = {}
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Tensor) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self.data
        self.data[self.ref_type(key, lambda gone: data.pop(gone, None))] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False


    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Return a shallow copy."""
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(self)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        made = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def keyrefs(self) -> list[Any]:
        """Return weak references to the keys, which may die before they are used."""
        return list(self.data)

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary", "ref"]
