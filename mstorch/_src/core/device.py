"""torch.device and the available devices."""
from __future__ import annotations

import re
import threading
from typing import Any

from ..backend import binding, runtime
from ..leaving import END, Block, length_again
from .cuda_names import is_on, meant

_TYPES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone npu"
).split()
_FORM = re.compile(r"([a-zA-Z_]+)(?::(-?\w*))?$")


class device(Block):
    """Device of a tensor: ``device("cuda:0")``, ``device("cuda", 0)`` or ``device(0)``."""

    __slots__ = ("type", "index", "_ends")
    type: str
    index: int | None

    def __init__(self, type: int | str | device, index: int | None = None) -> None:
        if isinstance(type, device):
            if index is not None:
                raise TypeError("device(): a device and an index cannot both be given")
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            accelerator = runtime.device_type()
            if accelerator == "cpu":
                raise RuntimeError("Cannot access accelerator device when none is available.")
            self.type, self.index = accelerator, type
            return
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        found = _FORM.match(type)
        if not found:
            raise RuntimeError(f"Invalid device string: '{type}'")
        kind, number = found.groups()
        if kind not in _TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(_TYPES[:-1])} device type at start of device string: {kind}"
            )
        if number is not None:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        elif index is not None and not hasattr(index, "__index__"):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        elif index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type, self.index = meant(kind), index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return str(self.type) if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> device:
        """Make this the default device inside a ``with`` block; raise if it is not available."""
        named(self)
        blocks = defaults.blocks
        self.at_end(length_again(blocks))
        blocks[END:] = (self,)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self.type),) if self.index is None else (str(self.type), self.index))


class _Defaults(threading.local):
    """Thread-local default device: that of the innermost ``with`` block, else the one set by ``set_default_device``."""

    chosen: device | None = None

    def __init__(self) -> None:
        self.blocks: list[device] = []


defaults = _Defaults()
CPU = device("cpu")
META = device("meta")
_TYPE = runtime.device_type()
_PLACES: dict[tuple[int, bool], device] = {}


# The second part of torch's error messages about devices.
_NOT_COMPILED = {
    "cuda": "",
    "xpu": "",
    "mtia": ". Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
    "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
}


def current() -> device:
    """Return the current accelerator, or the CPU if there is none."""
    if _TYPE == "cpu":
        return CPU
    index = binding.index()
    found = _PLACES.get((index, is_on()))
    if found is None:
        found = _PLACES[index, is_on()] = device(_TYPE, index)
    return found


def accelerator_is(name: str | None = None) -> bool:
    """Return True if the process computes on an accelerator, of type ``name`` if given."""
    return _TYPE != "cpu" if name is None else _TYPE == name != "cpu"


def prefix(place: device) -> str:
    """Return the prefix of tensor type names for a device: "npu." in "torch.npu.FloatTensor"."""
    return "" if place.type in ("cpu", "meta") else f"{place.type}."


def index_of(wanted: Any) -> int:
    """Return the device index for an index, a string, a device or None (the current one). Raise RuntimeError if this process may not use
    that device."""
    index = wanted if isinstance(wanted, int) else None if wanted is None else device(wanted).index
    if index is None or index < 0:
        return binding.index()
    binding.check(index)
    return index


def default() -> device:
    """Return the default device of new tensors."""
    if defaults.blocks:
        return resolve(defaults.blocks[-1])
    return CPU if defaults.chosen is None else resolve(defaults.chosen)


def is_meta(wanted: int | str | device | None) -> bool:
    """Return whether a new tensor on this device (None: the default) is a meta tensor."""
    return resolve(wanted) is META


def refuse_pinning(asked: bool, wanted: int | str | device | None, like: Any = None) -> None:
    """Raise torch's RuntimeError if pinned memory is requested (``asked``) without an accelerator; with one, ordinary memory is used. Meta
    tensors are exempt.

    ``like``: the tensor whose device is used if ``wanted`` is None."""
    if asked and _TYPE == "cpu" and not is_meta(like.device if wanted is None and like is not None else wanted):
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system."
        )


def named(wanted: int | str | device) -> device:
    """Return the device that the caller named, without an index if the name has none. Raise torch's error if the device is not available.
    """
    found = wanted if isinstance(wanted, device) else device(wanted)
    if found.index is None and meant(found.type) == _TYPE != "cpu":
        binding.check(binding.index())
        return device(_TYPE)
    return resolve(found)


def resolve(wanted: int | str | device | None) -> device:
    """Return the device for a new tensor; raise torch's error if it is not available."""
    if wanted is None:
        return default()
    found = wanted if isinstance(wanted, device) else device(wanted)
    if found.type == "cpu":
        return found
    if meant(found.type) == _TYPE:  # a device made before "cuda" became an alias of "npu"
        binding.use(found.index)
        return current()
    if found.type in _NOT_COMPILED:
        raise AssertionError(f"Torch not compiled with {found.type.upper()} enabled{_NOT_COMPILED[found.type]}")
    if found.type == "ipu":
        raise RuntimeError("PyTorch is not linked with support for ipu devices")
    if found.type == "meta":
        return META
    raise RuntimeError(
        f"mstorch: no {found.type} device is there; MindSpore computes on {current()}"
    )
