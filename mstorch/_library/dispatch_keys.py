"""Keys by which torch finds kernels, sets of them, and the keys that a thread excludes.

mstorch finds kernels without them; libraries name them when they register a kernel, and ask which ones are excluded.
"""
from __future__ import annotations

import enum
import threading

from .._src.core.modes import modes
from .._src.leaving import Block, each, values_again

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_SINGLE = (
    "Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor "
    "CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect ADInplaceOrView "
    "PythonTLSSnapshot Python FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode FuncTorchBatchedDecomposition FuncTorchBatched "
    "FuncTorchVmapMode FuncTorchGradWrapper PythonDispatcher PreDispatch Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU "
    "AutocastIPU AutocastCUDA AutocastPrivateUse1 Dense StartOfDenseBackends"
)
_KINDS = {  # the beginning of each backend's key, and the words for the kind itself and for its bounds
    "": ("", "Dense"), "Quantized": ("Quantized", "Quantized"), "Sparse": ("Sparse", "Sparse"), "SparseCsr": ("SparseCsr", "SparseCsr"),
    "NestedTensor": ("NestedTensor", "NestedTensor"), "Autograd": ("AutogradFunctionality", "AutogradFunctionality"),
}  # fmt: skip


def _names() -> list[str]:
    names = _SINGLE.split()
    for start, (own, bound) in _KINDS.items():
        names += [own, f"StartOf{bound}Backends"] if own else []
        names += [*(f"{start}{backend}" for backend in _BACKENDS), f"EndOf{bound}Backends"]
    return names


DispatchKey = enum.Enum("DispatchKey", _names())


class TransformType(enum.Enum):
    """The kinds of torch.func's transforms."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class DispatchKeySet:
    """Set of dispatch keys."""

    def __init__(self, key: DispatchKey | None = None) -> None:
        self._keys = frozenset() if key is None else frozenset([key])

    @classmethod
    def _of(cls, keys: frozenset[DispatchKey]) -> DispatchKeySet:
        made = cls()
        made._keys = keys
        return made

    def has(self, key: DispatchKey) -> bool:
        """Return whether the set contains a key."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set with one more key."""
        return self._of(self._keys | {key})

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set without a key."""
        return self._of(self._keys - {key})

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in DispatchKey if key in self._keys)})"


class _Excluded(threading.local):
    keys = DispatchKeySet()


_excluded = _Excluded()


class _AutoDispatchBelowAutograd(Block):
    """Context manager in which autograd tracks nothing, and an operator's rule for it is passed over."""

    def __enter__(self) -> None:
        self.at_end(each(values_again(_excluded, "keys"), values_again(modes, "grad")))
        autograd = frozenset(key for key in DispatchKey if key.name.startswith("Autograd"))
        _excluded.keys, modes.grad = _excluded.keys | DispatchKeySet._of(autograd), False


class _ExcludeDispatchKeyGuard(Block):
    """Context manager that notes keys as excluded. No kernel is left out for it: a kernel for autocast runs with autocast disabled anyway
    (`_library/registry.py`), and functorch's transforms enter their own keys again."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        self.at_end(values_again(_excluded, "keys"))
        _excluded.keys = _excluded.keys | self._keys


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """Return the keys that the thread excludes."""
    return _excluded.keys
