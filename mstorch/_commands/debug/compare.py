"""``MSTORCH_DEBUG=compare``: repeats each operation and each gradient in real torch, and reports the first whose result differs."""
from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..._src.core.above import above
from ..._src.core.generator import default_generator
from ..._src.core.modes import modes
from ..._src.core.overriding import OFF, state
from ..._src.core.tangents import LEVELS
from ..._src.core.tensor_base import TensorBase, strides_of
from ..._src.leaving import END, Undo, undoing, values_again
from ..._src.tape.node import node_of
from ..._src.tape.passes import running
from .client import Client
from .differences import Scale, difference
from .messages import Encoder, Message, NotComparable, encoded_result
from .oracle import Decoder, gradients, settings_of, tensors_in
from .places import Place, call_text, called_by_rule, place_of_call

Function = Callable[..., Any]

# Operations whose results are addresses, objects or uninitialized memory, or that compute nothing and change how a tensor is recorded.
UNWATCHED = frozenset((
    "backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_ data_ptr storage untyped_storage typed_storage "
    "storage_offset storage_type share_memory_ is_shared pin_memory is_pinned numpy __array__ __array_wrap__ __dlpack__ __dlpack_device__ "
    "__reduce_ex__ __setstate__ __deepcopy__ __repr__ __str__ __format__ __dir__ apply_ map_ map2_ set_ set_data resize_ resize_as_ "
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided new as_subclass module_load from_numpy frombuffer "
    "from_file from_dlpack is_set_to record_stream to_mindspore get_device is_inference type"
).split())  # fmt: skip
# Operations whose results are unique up to signs, order or rotations only, or are approximations of another kind than torch's.
UNDETERMINED = frozenset((
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 eig eigh svd qr geqrf lobpcg svd_lowrank pca_lowrank symeig ldl_factor ldl_factor_ex "
    "ormqr orthogonal_"
).split())  # fmt: skip


class DifferenceError(RuntimeError):
    """Raised for an operation or a gradient that differs from torch's."""


class _Busy(threading.local):
    """Thread-local flag: the thread is inside an operation, of which nested calls are a part."""

    now = False


class Call:
    """A call made by the program: its arguments and its source line."""

    def __init__(self, name: str, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        encoder = Encoder()
        torch = above.torch
        self.name, self.function = name, function
        self.place: Place = place_of_call()
        self.text = call_text("", args, kwargs, strides=True)
        self.message: Message = {
            "name": name, "args": encoder.encode(args), "kwargs": encoder.encode(kwargs), "writes": [], "given": None,
            "state": _random_state(), "recording": modes.grad, "inference": modes.inference,
            "autocast": str(torch.get_autocast_dtype("cpu")).removeprefix("torch.") if torch.is_autocast_enabled("cpu") else None,
            "default": str(torch.get_default_dtype()).removeprefix("torch."),
        }  # fmt: skip
        self.tensors = encoder.tensors
        self.message["leaves"] = [number for number, tensor in enumerate(self.tensors) if tensor.is_leaf]
        self.scale = Scale((self.message["args"], self.message["kwargs"]))
        self._versions = [tensor._ms_counter.version for tensor in self.tensors]
        self.nodes = {id(node_of(tensor)) for tensor in self.tensors}

    def note_writes(self) -> bool:
        """Remember which tensors the call wrote to; return False if they share memory, so that copies cannot replace them."""
        written = [number for number, tensor in enumerate(self.tensors) if tensor._ms_counter.version != self._versions[number]]
        self.message["writes"] = written
        # A view shares its base's version counter, so that it is unknown which of them was written to.
        return not self.shares_memory or not written

    @functools.cached_property
    def shares_memory(self) -> bool:
        """True if several tensors of the call, or several elements of one, share memory. Copies, which torch gets, would not share it."""
        storages = [id(tensor._ms_storage) for tensor in self.tensors]
        return len(set(storages)) < len(storages) or self._overlaps

    @property
    def _overlaps(self) -> bool:
        return any(step == 0 and length > 1 for tensor in self.tensors for step, length in zip(strides_of(tensor), tensor._ms_shape))

    def released(self) -> None:
        """Drop the references to the tensors; the message contains their values."""
        self.tensors = []


def _random_state() -> bytes:
    engine = default_generator.engine
    with engine.lock:
        return engine.get_state()


def _drawn_elsewhere(call: Call, result: Any, answer: Message) -> bool:
    """Return whether the call drew from a device's stream: torch, on the CPU, has another one."""
    if not answer["state"] or answer["state"] == call.message["state"] or _random_state() != call.message["state"]:
        return False
    return any(tensor.device.type not in ("cpu", "meta") for tensor in (*call.tensors, *tensors_in(result, TensorBase)))


class Comparison:
    """Compares the results of a program's operations with real torch. Raise ImportError if torch is not installed."""

    def __init__(self, goes_on: bool) -> None:
        self.client = Client()
        self.goes_on = goes_on
        self.busy = _Busy()
        self.told: set[str] = set()
        self._one = threading.RLock()  # threads share one generator and may share memory: compare one operation at a time

    def watched(self, function: Function, name: str) -> Function:
        """Wrap a function to be compared with torch when the user's program calls it; functions that compute nothing are returned
        unchanged.
        """
        last = name.rpartition(".")[2]
        if last in UNWATCHED or (last.startswith("_") and not last.startswith("__")):
            return function

        @functools.wraps(function)
        def compared(*args: Any, **kwargs: Any) -> Any:
            if self.busy.now or not self.can_compare() or (running.current is not None and called_by_rule()):
                return function(*args, **kwargs)
            with self._one:
                self.busy.now = True
                try:
                    call = Call(name, function, args, kwargs)
                except NotComparable:
                    call = None
                finally:
                    self.busy.now = False
                if call is not None:
                    return self._computed(call, args, kwargs)
            return function(*args, **kwargs)

        return compared

    def can_compare(self) -> bool:
        """Return whether comparison is possible: not within vmap, transforms, captures and forward mode, in a forked process, or during
        import.
        """
        return not (
            state.maps or state.levels or state.dispatchers or LEVELS or modes.native is not None or modes.shapes
            or not hasattr(above, "torch") or not self.client.here()
        )  # fmt: skip

    def _computed(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.busy.now = True
        try:
            with self.client.question(call.message) as answer:
                try:
                    result = call.function(*args, **kwargs)
                except NotImplementedError:
                    raise
                except Exception as error:
                    self._compare_error(call, error, answer())
                    raise
                comparable = call.note_writes()
            if comparable:
                with self.apart():  # torch has to be told which tensors were written to
                    self._compare(call, result, self.client.ask(call.message) if call.message["writes"] else answer())
            return result
        finally:
            call.released()
            self.busy.now = False

    @staticmethod
    @undoing
    def apart(undo: Undo) -> None:
        """Context manager for operations that must not affect the program: saved-tensor hooks and overriding are disabled."""
        undo[END:] = (values_again(modes, "saved_hooks"), values_again(state, "level"))
        modes.saved_hooks, state.level = [], max(OFF, state.level)

    def _compare_error(self, call: Call, error: Exception, answer: Message) -> None:
        if "result" in answer and not call.shares_memory:
            self._tell(call, "", f"mstorch raises {type(error).__name__}: {error}\n              torch gives a result", error)

    def _compare(self, call: Call, result: Any, answer: Message) -> None:
        if "absent" in answer:
            return
        if "error" in answer:
            kind, text = answer["error"]
            return self._tell(call, "", f"torch raises {kind}: {text}\n              mstorch gives a result")
        elsewhere = _drawn_elsewhere(call, result, answer)
        values = call.name.rpartition(".")[2] not in UNDETERMINED and not elsewhere
        found = difference(answer["result"], encoded_result(result), "result", call.scale, values, not call.message["writes"])
        for number in call.message["writes"]:
            if found is None:
                written = encoded_result(call.tensors[number])
                found = difference(answer["written"][number], written, f"tensor {number} of the arguments, written to", call.scale, values)
        if found is None and not elsewhere and (answer["state"] or call.message["state"]) != _random_state():
            found = "the random numbers that follow: mstorch and torch have not drawn equally many"
        if found is not None:
            return self._tell(call, "", found)
        if values:
            self._watch_gradient(call, result)
        return None

    def _watch_gradient(self, call: Call, result: Any) -> None:
        """Compare the call's gradients when backward reaches it."""
        places: dict[Any, dict[int, int]] = {}
        for index, tensor in enumerate(tensors_in(result, TensorBase)):
            node = node_of(tensor)
            if node is not None and id(node) not in call.nodes:
                places.setdefault(node, {})[tensor._ms_number] = index
        for node, numbers in places.items():
            node.register_prehook(functools.partial(self._compare_gradient, call, numbers))

    def _compare_gradient(self, call: Call, numbers: dict[int, int], given: tuple[Any, ...]) -> None:
        if self.busy.now or not self.can_compare():
            return
        self.busy.now = True
        try:
            with self._one, self.apart():
                self._gradients(call, {numbers[at]: item for at, item in enumerate(given) if item is not None and at in numbers})
        finally:
            self.busy.now = False

    def _gradients(self, call: Call, given: dict[int, Any]) -> None:
        try:
            messages = {index: Encoder().encode(gradient) for index, gradient in given.items()}
        except NotComparable:
            return
        request = {**call.message, "given": messages}
        before = default_generator.get_state()
        with self.client.question(request) as answer:
            try:
                with contextlib.ExitStack() as stack:
                    settings_of(above.torch, request, stack)
                    found = gradients(above.torch, call.function, request, Decoder(above.torch))
            except NotImplementedError:
                return  # backward raises the same error
            except Exception:
                if "gradients" in answer():
                    raise
                return
            finally:
                default_generator.set_state(before)
        if "gradients" not in answer():
            return
        scale = Scale((request["args"], request["kwargs"], list(messages.values())))
        for number, want in answer()["gradients"].items():
            what = f"gradient of tensor {number} of the arguments"
            differs = difference(want, encoded_result(found.get(number)), what, scale, True, False)
            if differs is not None:
                shown = ", ".join(f"{m['dtype']}{list(m['shape'])} strides {tuple(m['strides'])}" for m in messages.values())
                return self._tell(call, "the gradient of ", f"{differs}\n  came in     {shown}")

    def _tell(self, call: Call, what: str, difference: str, cause: Exception | None = None) -> None:
        self.tell(what + call.name, call.place, call.text, difference, cause)

    def tell(self, name: str, place: Place, arguments: str, difference: str, cause: Exception | None = None) -> None:
        """Raise DifferenceError or, with ``all``, print the difference once per operation."""
        text = (
            f"{name} differs from torch {self.client.version}\n  called at   {place}\n              {place.source()}\n"
            f"  arguments   {arguments}\n  difference  {difference}"
        )  # fmt: skip
        if not self.goes_on:
            raise DifferenceError(f"mstorch: {text}") from cause
        if name not in self.told:
            self.told.add(name)
            print(f"mstorch: {text}", file=sys.stderr, flush=True)
