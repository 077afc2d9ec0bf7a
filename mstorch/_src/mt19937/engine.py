"""The Mersenne Twister MT19937 with torch's seeding, word order and state layout."""
from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from ..quiet import quiet
from . import box_muller

DEFAULT_SEED = 67280421310721
"""Default seed of a torch.Generator()."""

BLOCK_WORDS = 624
"""Words that the twister makes at a time."""

STATE_SIZE = 5056
"""Bytes of a serialised state."""

_HEADER = struct.Struct("<QiiQ")  # seed, words left + 1, seeded, next word
_TRAILER = struct.Struct("<dddi4xf?3x")  # normal x, cached normal, rho, is it valid; cached float normal, is it valid
_WORDS_OFFSET = _HEADER.size
_TRAILER_OFFSET = _HEADER.size + 8 * BLOCK_WORDS
_SEED_MASK = (1 << 64) - 1
_DOUBLE_MASK = np.array((1 << 53) - 1, np.uint64)


class WordTables:
    """The next ``words`` of the stream, and tables of the numbers that small draws make of these words. A table is computed on first use;
    its entry i is the number that begins with word i."""

    __slots__ = ("_bits53", "_normals", "_units32", "_units64", "words")

    def __init__(self, words: NDArray[np.uint32]) -> None:
        self.words = words
        self._units32: NDArray[np.float32] | None = None
        self._bits53: NDArray[np.uint64] | None = None
        self._units64: NDArray[np.float64] | None = None
        self._normals: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]] | None = None

    @property
    def units32(self) -> NDArray[np.float32]:
        """The float32 uniform in [0, 1) of each word."""
        if self._units32 is None:
            self._units32 = (self.words & box_muller.UNIT_MASK).astype(np.float32)
            self._units32 *= np.float32(2.0**-24)
        return self._units32

    @property
    def bits53(self) -> NDArray[np.uint64]:
        """The low 53 bits of each pair of adjacent words, the first word being the high half."""
        if self._bits53 is None:
            wide = self.words.astype(np.uint64)
            self._bits53 = ((wide[:-1] << np.uint64(32)) | wide[1:]) & _DOUBLE_MASK
        return self._bits53

    @property
    def units64(self) -> NDArray[np.float64]:
        """The float64 uniform in [0, 1) of each pair of adjacent words."""
        if self._units64 is None:
            self._units64 = self.bits53.view(np.int64) * 2.0**-53
        return self._units64

    @property
    def normals(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """The Box-Muller radius of each word, and the cosine and sine of its angle."""
        if self._normals is None:
            self._normals = (box_muller.radius(self.words), *box_muller.cosine_and_sine(self.words))
        return self._normals


_NO_TABLES = WordTables(np.empty(0, np.uint32))


class _Unseeded(ISeedSequence):
    """Words for a stream that is seeded afterwards. NumPy's own seeds are mixed for 0.4 ms; those of a list are read without arrays."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return [1] * n_words


_UNSEEDED = _Unseeded()


class Engine:
    """Stream of 32-bit words, with the second normal sample that torch caches.

    `cached_normal` is that sample in double precision, or None. Draws do not acquire the `lock`: callers that draw from several threads
    must hold it.
    """

    __slots__ = (
        "_bit_generator",
        "_end_next",
        "_generator",
        "_key",
        "_legacy",
        "_origin",
        "_position",
        "_seed",
        "cached_normal",
        "lock",
        "stands_for",
        "tables",
    )

    cached_normal: float | None
    tables: WordTables
    _origin: int  # the index in the tables of the current block's first word

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.lock = threading.RLock()
        self.stands_for: Any = None  # the Generator whose stream this one copies for a while
        with quiet():  # NumPy's own ``errstate`` may be interrupted before it restores the state
            self._bit_generator = np.random.MT19937(_UNSEEDED)  # type: ignore[arg-type]  # NumPy's types name its own seeds only
        self._generator = np.random.Generator(self._bit_generator)
        self._legacy = np.random.RandomState(self._bit_generator)
        # NumPy documents state_address: it points to the 624 words, followed by the number of words already used.
        address = self._bit_generator.ctypes.state_address
        self._key = np.ctypeslib.as_array((ctypes.c_uint32 * BLOCK_WORDS).from_address(address))
        self._position = ctypes.c_int.from_address(address + 4 * BLOCK_WORDS)
        self.manual_seed(seed)

    # --- seeding -------------------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> None:
        """Start the stream of a seed; a negative seed is read as its two's complement.

        Raise ValueError outside [-2^63, 2^64 - 1].
        """
        if not -(1 << 63) <= seed <= _SEED_MASK:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed & _SEED_MASK
        self._legacy.seed(self._seed & 0xFFFFFFFF)
        self.cached_normal = None
        self._end_next = 0
        self._forget_tables()

    def seed(self) -> int:
        """Seed with 64 random bits from the operating system, and return them."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the 64-bit seed, of which only the low 32 bits determine the stream."""
        return self._seed

    # --- state ---------------------------------------------------------------------------------------------------

    def get_state(self) -> bytes:
        """Return the state in the format of torch.Generator.get_state()."""
        position = self._position.value
        following = self._end_next if position == BLOCK_WORDS else position
        cached = self.cached_normal
        return b"".join(
            (
                _HEADER.pack(self._seed, max(BLOCK_WORDS + 1 - position, 1), 1, following),
                self._key.astype("<u8").tobytes(),
                _TRAILER.pack(0.0, cached or 0.0, 0.0, cached is not None, 0.0, False),
            )
        )

    def set_state(self, state: bytes | bytearray | memoryview | NDArray[np.uint8]) -> None:
        """Restore a state of torch.Generator.get_state(), including its initial seed.

        Raise RuntimeError if the size is wrong, or if the state is not one that torch makes.
        """
        raw = bytes(state)
        if len(raw) != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} "
                f"but found the input RNG state size to be {len(raw)}"
            )
        seed, left, seeded, following = _HEADER.unpack_from(raw)
        consistent = left == 1 or left + following == BLOCK_WORDS + 1
        if not (seeded and 0 < left <= BLOCK_WORDS and following <= BLOCK_WORDS and consistent):
            raise RuntimeError("Invalid mt19937 state")
        _, cached, _, is_cached, _, _ = _TRAILER.unpack_from(raw, _TRAILER_OFFSET)
        self._key[:] = np.frombuffer(raw, "<u8", BLOCK_WORDS, _WORDS_OFFSET)
        self._position.value = BLOCK_WORDS if left == 1 else following
        self._end_next = following if left == 1 else BLOCK_WORDS
        self._seed = seed
        self.cached_normal = cached if is_cached else None
        self._forget_tables()

    def clone(self) -> Engine:
        """Return a second engine with the same state."""
        return _restore(self.get_state())

    def __reduce__(self) -> tuple[Callable[[bytes], Engine], tuple[bytes]]:
        """Copy and pickle the state only: the rest are addresses in this process."""
        return _restore, (self.get_state(),)

    # --- words ---------------------------------------------------------------------------------------------------

    def words32(self, n: int) -> NDArray[np.uint32]:
        """Return the next n words."""
        self._prepare(n)
        return self._generator.integers(0, 1 << 32, size=n, dtype=np.uint32)

    def words64(self, n: int) -> NDArray[np.uint64]:
        """Return the next n pairs of words, with the first of each pair as the high half."""
        self._prepare(2 * n)
        return self._generator.integers(0, _SEED_MASK, size=n, dtype=np.uint64, endpoint=True)

    def reserve(self, n: int) -> int:
        """Consume the next n words, at most 624, and return the index of the first in `tables`.

        The tables are read-only, and valid until the next draw.
        """
        start = self._position.value
        end = start + n
        if end > BLOCK_WORDS or self.tables is _NO_TABLES:
            return self._reserve_next_block(n)
        self._position.value = end
        return self._origin + start

    def _reserve_next_block(self, n: int) -> int:
        """Do what `reserve` does if the tables do not contain the words yet.

        The rest of the old block is put before the new one, so that no draw spans two tables.
        """
        start = self._position.value
        words = self._rest_of_block() if self.tables is _NO_TABLES else self.tables.words[self._origin + start :]
        self._origin = -start
        self._position.value = start + n
        if start + n > BLOCK_WORDS:
            self._origin = words.size
            self._position.value = BLOCK_WORDS
            words = np.concatenate((words, self._twist()))
            self._position.value = n - self._origin
        self.tables = WordTables(words)
        return 0

    def _rest_of_block(self) -> NDArray[np.uint32]:
        return self._generator.integers(0, 1 << 32, size=BLOCK_WORDS - self._position.value, dtype=np.uint32)

    def _twist(self) -> NDArray[np.uint32]:
        self._end_next = BLOCK_WORDS
        return self._generator.integers(0, 1 << 32, size=BLOCK_WORDS, dtype=np.uint32)

    def _prepare(self, n: int) -> None:
        """Discard the cached tables if the next n words reach into a new block."""
        if self._position.value + n > BLOCK_WORDS:
            self._end_next = BLOCK_WORDS
            self._forget_tables()

    def _forget_tables(self) -> None:
        self.tables = _NO_TABLES
        self._origin = 0


def _restore(state: bytes) -> Engine:
    engine = Engine()
    engine.set_state(state)
    return engine
