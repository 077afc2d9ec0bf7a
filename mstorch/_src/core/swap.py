"""torch.utils.swap_tensors."""
from __future__ import annotations

import copyreg
import weakref

from .tensor_base import TensorBase


def swap_tensors(t1: TensorBase, t2: TensorBase) -> None:
    """Swap the class, elements and autograd state of two tensors, so that every reference to one tensor refers to the other afterwards.

    Raise RuntimeError if a weak reference or a recorded graph refers to one of them.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = copyreg._slotnames(type(t1))  # type: ignore[attr-defined]
    if set(slots) != set(copyreg._slotnames(type(t2))):  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, tensor in (("t1", t1), ("t2", t2)):
        accumulator = None if tensor._ms_auto is None else tensor._ms_auto.accumulator
        if accumulator is not None and accumulator() is not None:
            raise RuntimeError(
                f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got 3 make sure you are not holding "
                "references to the tensor in other places."
            )
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    missing = object()
    for slot in {*TensorBase.__slots__, *slots} - {"__dict__", "__weakref__"}:
        first, second = getattr(t1, slot, missing), getattr(t2, slot, missing)
        for tensor, value in ((t1, second), (t2, first)):
            if value is not missing:
                setattr(tensor, slot, value)
            elif hasattr(tensor, slot):
                delattr(tensor, slot)
