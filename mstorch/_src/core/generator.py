"""torch.Generator: random number streams, torch's own MT19937 on the CPU and MindSpore's on an accelerator."""
from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import runtime, seeds
from ..backend.arrays import Array, Number
from ..backend.device_random import DeviceStream, new_stream
from ..backend.forked import forked
from ..backend.raw import ON_CPU
from ..leaving import END, Block, length_again, values_again
from ..mt19937 import Engine
from . import device as devices
from .device import device
from .modes import modes
from .naming import is_torch
from .storage import NATIVE
from .tensor_base import TensorBase, array_of, tensor_of


class _Aside(threading.local):
    copies: dict[int, Any] | None = None


_aside = _Aside()


class Generator:
    """Pseudorandom number generator.

    The state on the CPU is torch's uint8 tensor of 5,056 bytes, interchangeable with torch. A generator of an accelerator drives
    MindSpore's kernels; its state is 16 bytes, the seed and the offset. On the stand-in device, which has no random kernels, and with
    ``MSTORCH_DEVICE_RANDOM=host`` it is an MT19937 stream, whose numbers the host draws.
    """

    def __init__(self, device: str = "cpu") -> None:
        try:
            self._device = devices.named(device)
        except AssertionError as error:
            kind = devices.device(device).type
            raise RuntimeError(f"Cannot get {kind.upper()} generator without ATen_{kind} library.") from error
        on_host = self._device.type == "cpu" or runtime.FAKE_DEVICE or runtime.HOST_NUMBERS
        self._engine: Engine | DeviceStream = Engine() if on_host else new_stream()

    @property
    def device(self) -> device:
        """The device of the generator."""
        return self._device if self._device.type in ("cpu", "meta") else devices.current()

    @property
    def engine(self) -> Engine | DeviceStream:
        """The underlying stream, reseeded if ``mindspore.set_seed`` was called since the stream's last use."""
        if self is default_generator and seeds.seed_is_new():
            _follow_mindspore()
        return self._current()

    def _current(self) -> Engine | DeviceStream:
        """Return the stream; in ``streams_aside``, this thread's copy of it."""
        copies = _aside.copies
        return self._engine if copies is None else copies.get(id(self), self._engine)

    def manual_seed(self, seed: int) -> Generator:
        """Seed the stream with a number from -2**63 to 2**64 - 1; return the generator."""
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        engine = self._current()
        with engine.lock:
            engine.manual_seed(seed)
            self._mark_seeded()
        return self

    def _mark_seeded(self) -> None:
        """Mark the stream as seeded through torch's interface, so that an earlier ``mindspore.set_seed`` no longer applies."""
        if self is default_generator:
            seeds.note_seed()

    def seed(self) -> int:
        """Seed the stream from the operating system; return the seed."""
        engine = self._current()
        with engine.lock:
            drawn = engine.seed()
            self._mark_seeded()
        return drawn

    def initial_seed(self) -> int:
        """Return the seed with which the stream was last started."""
        return self.engine.initial_seed()

    def philox_state(self, increment: int) -> Any:
        """Raise NotImplementedError: no stream here is one of Philox' that kernels of CUDA could share (torch 2.14)."""
        raise NotImplementedError("philox_state is not supported in this Generator")

    def get_state(self) -> Any:
        """Return the state as a uint8 tensor: 5,056 bytes on the CPU, 16 on an accelerator."""
        engine = self.engine
        with engine.lock:
            state = engine.get_state()
        return tensor_of(np.frombuffer(state, np.uint8).copy())

    def set_state(self, new_state: TensorBase) -> Generator:
        """Restore a state returned by ``get_state``; return the generator."""
        if not isinstance(new_state, TensorBase):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state._ms_dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        engine = self._current()
        with engine.lock:
            engine.set_state(array_of(new_state).reshape(-1))
            self._mark_seeded()
        return self

    def get_offset(self) -> int:
        """Return the position in the stream of an accelerator. Raise RuntimeError on the CPU, whose stream has none."""
        return self._device_stream().offset()

    def set_offset(self, offset: int) -> Generator:
        """Continue from a position in the stream of an accelerator; return the generator. Raise RuntimeError on the CPU."""
        if not hasattr(offset, "__index__") or isinstance(offset, TensorBase):
            raise RuntimeError(f"manual_offset expected a long, but got {type(offset).__name__}")
        stream = self._device_stream()
        with stream.lock:
            stream.set_offset(operator.index(offset))
            self._mark_seeded()
        return self

    def _device_stream(self) -> DeviceStream:
        if not isinstance(self._engine, DeviceStream):
            raise RuntimeError(f"{self._device.type.upper()} Generator does not use offset")
        return self._engine

    def graphsafe_get_state(self) -> Generator:
        """Return a generator that shares this one's stream. Raise NotImplementedError on the CPU, where torch has none either."""
        if not isinstance(self._engine, DeviceStream):
            raise NotImplementedError("graphsafe_get_state is not supported in this Generator")
        return self._with_engine(self._engine)

    def graphsafe_set_state(self, generator: Generator) -> Generator:
        """Share the stream of another generator from now on; return this one. Raise NotImplementedError on the CPU."""
        if not isinstance(generator, Generator):
            raise TypeError(f"expected a Generator, but got {type(generator).__name__}")
        if not isinstance(self._engine, DeviceStream) or not isinstance(generator._engine, DeviceStream):
            raise NotImplementedError("graphsafe_set_state is not supported in this Generator")
        self._engine = generator._engine
        return self

    def _with_engine(self, engine: Engine | DeviceStream) -> Generator:
        other = Generator.__new__(type(self))
        other._device, other._engine = self._device, engine
        return other

    def clone_state(self) -> Generator:
        """Return a new generator with the same state."""
        engine = self.engine
        with engine.lock:
            return self._with_engine(engine.clone())

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {hex(id(self))}>"

    def __setstate__(self, state: tuple[int, int | None, Any]) -> None:
        """Restore a seed, an offset and a state, as torch pickles them."""
        self.set_state(state[2])

    def __reduce__(self) -> tuple[Any, ...]:
        if is_torch() and self._device.type == "cpu":
            return Generator, (self._device,), (self.initial_seed(), None, self.get_state())
        return _restored, (str(self.device), self.engine.get_state())


def _restored(where: str, state: bytes) -> Generator:
    generator = Generator(where)
    generator._engine.set_state(state)
    return generator


default_generator = Generator()
if seeds.mindspore_seed() is None:
    default_generator.seed()
if hasattr(os, "register_at_fork"):  # a thread that was drawing does not exist in the child
    os.register_at_fork(after_in_child=lambda: default_generator._engine.lock._at_fork_reinit())  # type: ignore[attr-defined]
_device_generators: list[Generator] = []


def _follow_mindspore() -> None:
    """Seed the streams with the seed given to ``mindspore.set_seed``."""
    with default_generator._engine.lock:
        if not seeds.seed_is_new():  # another thread has done it in the meantime
            return
        seed = seeds.mindspore_seed()
        assert seed is not None
        default_generator._engine.manual_seed(seed)
        if _device_generators and not forked.here:
            _device_generators[0].manual_seed(seed)
        seeds.note_seed()


def _default_engine() -> Engine | DeviceStream:
    """Return the stream of the default generator, reseeded first if ``mindspore.set_seed`` was called."""
    if seeds.seed_is_new():
        _follow_mindspore()
    return default_generator._current()


def device_generator() -> Generator:
    """Return the accelerator's default generator, created on first use with the seed of the default generator.

    With ``MSTORCH_DEVICE_RANDOM=host`` both draw from one stream, as all draws of a program on the CPU do."""
    if seeds.seed_is_new():
        _follow_mindspore()
    if not _device_generators:
        own = Generator(devices.current().type)
        if runtime.HOST_NUMBERS:
            own._engine = default_generator._engine
        else:
            own.manual_seed(default_generator.initial_seed())
        _device_generators.append(own)
    return _device_generators[0]


def states_of_streams() -> list[Any]:
    """Return the states of the default streams of host and device."""
    return [generator.engine.get_state() for generator in _default_generators()]


def put_states(states: list[Any]) -> None:
    """Restore states returned by ``states_of_streams``."""
    for generator, state in zip(_default_generators(), states):
        generator.engine.set_state(state)


class streams_aside(Block):
    """Context manager in which this thread draws from copies of the default streams: what it draws and restores there (in a capture, which
    runs a function several times) is no matter of other threads, which draw from the streams themselves."""

    def __enter__(self) -> None:
        copies: dict[int, Any] = {}
        for generator in _default_generators():
            if generator is not default_generator and generator._engine is default_generator._engine:
                copies[id(generator)] = copies[id(default_generator)]
                continue
            with generator.engine.lock:
                copies[id(generator)] = copy = generator.engine.clone()
            copy.stands_for = generator
        self.at_end(values_again(_aside, "copies"))
        _aside.copies = copies


def _default_generators() -> list[Generator]:
    return [default_generator] if devices.current().type == "cpu" or forked.here else [default_generator, device_generator()]


def seed_devices(seed: int) -> None:
    """Seed the accelerator's default stream; do nothing without an accelerator, for example in a forked process."""
    if devices.current().type != "cpu" and not forked.here:
        device_generator().manual_seed(seed)


class _Blocks(threading.local):
    """Thread-local stack of the ``randomness`` options of running vmaps, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[randomness] = []


_blocks = _Blocks()
_OF_A_COUNT = frozenset(("dropout_mask",))  # draws whose first argument is a number of elements, not a shape


class randomness(Block):
    """Context manager that sets vmap's ``randomness`` ("error", "same", "different", or the older vmap's "refused") for slices that are
    computed one after another.

    torch makes each draw once, for all slices together. To give the same numbers, the first slice draws for all slices: with "different"
    each slice uses its own part, with "same" every slice uses the one sample. A draw whose parameters are tensors is made per slice, and so
    are the draws of a device, from the same place of its stream with "same".
    Entering the context returns a function to call before each slice.
    """

    def __init__(self, mode: str, size: int = 0) -> None:
        self._mode, self._size = mode, size
        self._drawn: list[tuple[Any, Any]] = []
        self._slice = self._place = -1

    def __enter__(self) -> Callable[..., Any]:
        def begin_slice() -> None:
            self._slice += 1
            self._place = -1

        self.at_end(length_again(_blocks.stack))
        _blocks.stack[END:] = (self,)
        return begin_slice

    def draw(self, engine: Engine | DeviceStream, name: str, args: tuple[Any, ...], further: Callable[[tuple[Any, ...]], Any]) -> Array:
        """Return the current slice's random numbers: those drawn with the first slice, or, if this slice's calls differ from the first's,
        those of ``further(args)``."""
        self._place += 1
        if isinstance(engine, DeviceStream) or any(isinstance(arg, np.ndarray) for arg in args):
            return self._of_values(engine, args, further)
        key = engine, name, args
        if self._slice == 0:
            self._drawn.append((key, self._of_all(name, args, further)))
        elif self._place >= len(self._drawn) or self._drawn[self._place][0] != key:
            return further(args)  # the slices do not draw the same sequence
        held = self._drawn[self._place][1]
        return np.array(held if self._mode == "same" else held[self._slice])

    def _of_all(self, name: str, args: tuple[Any, ...], further: Callable[[tuple[Any, ...]], Any]) -> Array | list[Array]:
        if self._mode == "same":
            return further(args)
        first, *rest = args
        if isinstance(first, tuple):
            return further(((self._size, *first), *rest))
        if name in _OF_A_COUNT:
            return further((self._size * first, *rest)).reshape(self._size, first)
        return [further(args) for _ in range(self._size)]

    def _of_values(self, engine: Engine | DeviceStream, args: tuple[Any, ...], further: Callable[[tuple[Any, ...]], Any]) -> Any:
        if self._mode == "different":
            return further(args)
        if self._slice == 0:
            self._drawn.append((None, engine.get_state()))
        elif self._place < len(self._drawn) and self._drawn[self._place][0] is None:
            engine.set_state(self._drawn[self._place][1])
        return further(args)


def drawn_in_slices(
    engine: Engine | DeviceStream, name: str, args: tuple[Any, ...], draw: Callable[[tuple[Any, ...]], Any]
) -> Array | float:
    """Draw random numbers inside vmaps: return ``draw(args)``, where each running vmap's ``randomness`` option decides which slices share
    numbers."""
    further = draw
    for block in _blocks.stack:
        further = functools.partial(block.draw, engine, name, further=further)
    return further(args)


def _check_allowed() -> None:
    if any(block._mode == "refused" for block in _blocks.stack):
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of vmap as a "
            "workaround"
        )
    if any(block._mode == "error" for block in _blocks.stack):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def engine_of(generator: Generator | None, device: device | str | int | None = None) -> Any:
    """Return the stream to draw from: the generator's, else the device's, else the host's."""
    _check_allowed()
    wanted = None if device is None else devices.resolve(device)
    if generator is None:
        return _default_engine() if wanted is None or wanted.type == "cpu" else device_generator().engine
    if not isinstance(generator, Generator):
        raise TypeError(f"expected a torch.Generator, but got {type(generator).__name__}")
    if wanted is not None:
        check_place(generator, wanted)
    return generator.engine


def check_place(generator: Generator, wanted: device) -> None:
    """Raise torch's RuntimeError if the generator is for another device type."""
    if wanted.type != generator._device.type:
        raise RuntimeError(f"Expected a '{wanted.type}' device type for generator but found '{generator._device.type}'")


def mask_engine(tensor: TensorBase) -> Any:
    """Return the stream for the dropout mask of a tensor: the stream of the tensor's device."""
    _check_allowed()
    return _default_engine() if tensor.device.type in ("cpu", "meta") else device_generator().engine


def engine_for(tensor: TensorBase) -> Any:
    """Return the stream for a tensor's random numbers: its device's, or the host's while MindSpore's own trainer runs the Module."""
    native = modes.native is not None and not modes.native.captured
    if ON_CPU or native or tensor._ms_storage.__class__ not in NATIVE:
        return engine_of(None)
    _check_allowed()
    return device_generator().engine


def draws_on_device(value: TensorBase | Number) -> bool:
    """Return whether numbers with this tensor as a parameter are drawn on a device, without reading values."""
    return not ON_CPU and modes.native is None and isinstance(value, TensorBase) and value._ms_storage.__class__ in NATIVE
