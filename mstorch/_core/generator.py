"""torch.Generator: a stream of random numbers. On CPU it is torch's own MT19937."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._mt19937 import Engine
from . import device as devices
from .device import device


class Generator:
    """A source of random numbers with a seed and a state.

    The state on CPU is torch's tensor of 5,056 bytes: one saved by torch continues here, and the reverse.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = devices.resolve(device)
        self._engine = Engine()

    @property
    def device(self) -> device:
        """The device whose random numbers the generator makes."""
        return self._device

    @property
    def engine(self) -> Engine:
        """The stream of words underneath."""
        return self._engine

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed, from -2**63 to 2**64 - 1; returns the generator."""
        self._engine.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Start the stream of a seed drawn from the operating system; returns it."""
        return self._engine.seed()

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return self._engine.initial_seed()

    def get_state(self) -> Any:
        """The state as a uint8 tensor of 5,056 bytes."""
        from .._ops.from_data import made

        return made(np.frombuffer(self._engine.get_state(), np.uint8).copy())

    def set_state(self, new_state: Any) -> None:
        """Continue from a state that ``get_state`` gave."""
        from .tensor_base import TensorBase, value_of

        if not isinstance(new_state, TensorBase):
            raise TypeError(f"set_state(): argument 'new_state' must be Tensor, not {type(new_state).__name__}")
        if new_state._dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        self._engine.set_state(value_of(new_state).asnumpy().reshape(-1))

    def clone_state(self) -> Generator:
        """Another generator at the same place of the same stream."""
        copied = Generator.__new__(type(self))
        copied._device = self._device
        copied._engine = self._engine.clone()
        return copied

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {hex(id(self))}>"

    def __reduce__(self) -> Any:
        return _restored, (str(self._device), self._engine.get_state())


def _restored(where: str, state: bytes) -> Generator:
    generator = Generator(where)
    generator._engine.set_state(state)
    return generator


default_generator = Generator()
default_generator.seed()


def engine_of(generator: Generator | None) -> Engine:
    """The stream of a generator, the default one for None."""
    if generator is None:
        return default_generator._engine
    if not isinstance(generator, Generator):
        raise TypeError(f"expected a torch.Generator, but got {type(generator).__name__}")
    return generator._engine
