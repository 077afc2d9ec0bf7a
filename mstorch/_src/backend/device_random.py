"""Random numbers of an accelerator: on Ascend from MindSpore's generator and mint's kernels, on a GPU from the older primitives."""
from __future__ import annotations

import os
import sys
import threading
from typing import Any

import mindspore
from mindspore import mint

from . import runtime
from .device_memory import allocated
from .primitives import run
from .raw import MS_DTYPE, Raw, scalar, to_numpy

STATE_SIZE = 16
"""Bytes of a state: the seed and the offset in its stream, eight bytes each."""
_STEP = mindspore.Tensor(12, mindspore.int64)  # by which MindSpore's own draws advance the offset


class DeviceStream:
    """Random stream of an accelerator; equal seeds give equal numbers on equal devices.

    MindSpore's generator is created on the first draw, so that seeding does not bind the device.
    """

    __slots__ = ("_made", "_start", "lock", "stands_for")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stands_for: Any = None  # the Generator whose stream this one copies for a while
        self._made: mindspore.Generator | None = None
        self._start = bytes(STATE_SIZE)

    @property
    def _generator(self) -> mindspore.Generator:
        if self._made is None:
            self._made = mindspore.Generator()
            self.set_state(self._start)
        return self._made

    def manual_seed(self, seed: int) -> None:
        """Seed the stream; raise ValueError outside [-2^63, 2^64 - 1]."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        if self._made is None:
            self._start = (seed % (1 << 64)).to_bytes(8, sys.byteorder) + bytes(8)
        else:
            self._made.manual_seed((seed + (1 << 63)) % (1 << 64) - (1 << 63))

    def seed(self) -> int:
        """Seed with 64 random bits from the operating system, and return them."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed with which the stream was last started."""
        return int.from_bytes(self._start[:8], sys.byteorder) if self._made is None else int(self._made.initial_seed()) % (1 << 64)

    def get_state(self) -> bytes:
        """Return the state as 16 bytes."""
        return self._start if self._made is None else to_numpy(self._made.get_state()).tobytes()

    def set_state(self, state: Any) -> None:
        """Restore a state; raise RuntimeError if its size is wrong."""
        raw = bytes(state)
        if len(raw) != STATE_SIZE:
            raise RuntimeError("RNG state is wrong size")
        if self._made is None:
            self._start = raw
        else:
            self._made.set_state(mindspore.Tensor(list(raw), mindspore.uint8))

    def offset(self) -> int:
        """Return the position in the stream."""
        return int.from_bytes(self.get_state()[8:], sys.byteorder)

    def set_offset(self, offset: int) -> None:
        """Continue from a position in the stream. Raise RuntimeError for a negative one."""
        if not 0 <= offset < 1 << 63:
            raise RuntimeError(f"the offset of a random stream must be in [0, 2**63), got {offset}")
        self.set_state(self.get_state()[:8] + offset.to_bytes(8, sys.byteorder))

    def clone(self) -> DeviceStream:
        """Return a second stream with the same state."""
        copied = type(self)()
        copied.set_state(self.get_state())
        return copied

    def uniform(self, shape: tuple[int, ...], name: str) -> Raw:
        """Draw uniform numbers in [0, 1) in a floating-point dtype."""
        return allocated(shape, name, lambda: mint.rand(shape, generator=self._generator, dtype=MS_DTYPE[name]))

    def normal(self, shape: tuple[int, ...], name: str) -> Raw:
        """Draw standard normal numbers in a floating-point dtype."""
        return allocated(shape, name, lambda: mint.randn(shape, generator=self._generator, dtype=MS_DTYPE[name]))

    def bits(self, count: int, keep: float) -> Raw:
        """Draw bits that are 1 with probability ``keep``, eight a byte, for at least ``count`` of them."""
        seed, offset = self._generator._step(_STEP)
        return run("DropoutGenMaskExt", (count,), 1 - keep, seed, offset, MS_DTYPE["float32"])

    def integers(self, shape: tuple[int, ...], low: int, high: int, name: str) -> Raw:
        """Draw integers in [low, high)."""
        return allocated(shape, name, lambda: mint.randint(low, high, shape, generator=self._generator, dtype=MS_DTYPE[name]))

    def permutation(self, n: int, name: str) -> Raw:
        """Draw a permutation of 0 to n - 1."""
        return allocated((n,), name, lambda: mint.randperm(n, generator=self._generator, dtype=MS_DTYPE[name]))


class GpuStream(DeviceStream):
    """Random stream of a GPU: numbers of StandardNormal and UniformReal, each draw of which is seeded by the stream's seed and offset, the
    number of draws since. No generator of MindSpore is made, so that the state is always the bytes that a stream begins with.

    The plugin has none of mint's kernels of random numbers. Its primitives draw in single precision; double precision joins two draws.
    """

    __slots__ = ()

    def _draw(self, name: str, shape: tuple[int, ...]) -> Raw:
        """Draw in float32. Two seeds of 0 would mean others at each call, so that the second one is not 0."""
        seed, offset = self.initial_seed(), self.offset() + 1
        self.set_offset(offset)
        first = (seed ^ seed >> 32) & 0x7FFFFFFF
        raw = run(name, shape or (1,), at=(first, (offset + (seed >> 31 & 0xFFFF)) % 0x7FFFFFFE + 1))
        return raw if shape else run("Reshape", raw, ())

    def uniform(self, shape: tuple[int, ...], name: str) -> Raw:
        """Draw uniform numbers in [0, 1) in a floating-point dtype."""
        drawn = self._draw("UniformReal", shape)
        if name != "float64":
            return drawn if name == "float32" else run("Cast", drawn, MS_DTYPE[name])
        low = run("Mul", run("Cast", self._draw("UniformReal", shape), MS_DTYPE[name]), scalar(2.0**-24, name))
        return run("Add", run("Cast", drawn, MS_DTYPE[name]), low)

    def normal(self, shape: tuple[int, ...], name: str) -> Raw:
        """Draw standard normal numbers in a floating-point dtype."""
        drawn = self._draw("StandardNormal", shape)
        return drawn if name == "float32" else run("Cast", drawn, MS_DTYPE[name])

    def bits(self, count: int, keep: float) -> Raw:
        """Raise NotImplementedError: the plugin has no kernel that takes bits as a mask."""
        raise NotImplementedError("mstorch: the plugin for GPUs has no dropout by bits")

    def integers(self, shape: tuple[int, ...], low: int, high: int, name: str) -> Raw:
        """Draw integers in [low, high)."""
        unit = self.uniform(shape, "float64")
        place = run("Floor", run("Mul", unit, scalar(float(high - low), "float64")))
        last = run("Minimum", place, scalar(float(high - low - 1), "float64"))  # of a product that was rounded up
        return run("Cast", run("Add", run("Cast", last, MS_DTYPE["int64"]), scalar(low, "int64")), MS_DTYPE[name])

    def permutation(self, n: int, name: str) -> Raw:
        """Draw a permutation of 0 to n - 1: the order of n uniform numbers."""
        if n == 0:
            return run("Cast", self._draw("UniformReal", (1,)), MS_DTYPE[name])[:0]
        return run("Cast", run("Sort", self._draw("UniformReal", (n,)))[1], MS_DTYPE[name])


def new_stream() -> DeviceStream:
    """Return a new stream of the process's accelerator."""
    return GpuStream() if runtime.DEVICE_TARGET == "GPU" else DeviceStream()
