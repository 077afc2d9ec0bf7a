"""torch.quasirandom: quasirandom points, which fill a cube more evenly than random ones."""
from __future__ import annotations

import mstorch as torch

from ._src.namespace import sobol
from ._tensor import Tensor


class SobolEngine:
    """Draws points of a Sobol sequence in [0, 1) with ``dimension`` coordinates, up to 21201; equal to torch's bit by bit.

    ``scramble`` scrambles the bits, with ``seed`` or the default generator; the direction numbers are those of Joe and Kuo.
    """

    MAXBIT = sobol.BITS
    MAXDIM = sobol.DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        self.sobolstate = torch.zeros(dimension, self.MAXBIT, dtype=torch.int64)
        sobol._sobol_engine_initialize_state_(self.sobolstate, dimension)
        self.shift = torch.zeros(dimension, dtype=torch.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits = torch.randint(2, (self.dimension, self.MAXBIT), generator=generator)
        self.shift = (bits << torch.arange(self.MAXBIT)).sum(1)
        matrices = torch.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril()
        sobol._sobol_engine_scramble_(self.sobolstate, matrices, self.dimension)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """Return the next ``n`` points, (n, dimension), in ``dtype``, by default the default dtype."""
        kind = torch.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        if first and n == 1:
            result = self._first_point.to(kind)
        else:
            rest = n - 1 if first else n
            before = 0 if first else self.num_generated - 1
            result, self.quasi = sobol._sobol_engine_draw(self.quasi, rest, self.sobolstate, self.dimension, before, dtype=kind)
            if first:
                result = torch.cat((self._first_point.to(kind), result))
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """Return the next ``2**m`` points. Raise ValueError if the total number of points is then not a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Restart the sequence with the same scrambling."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip the next ``n`` points."""
        first = self.num_generated == 0
        before = 0 if first else self.num_generated - 1
        sobol._sobol_engine_ff_(self.quasi, n - 1 if first else n, self.sobolstate, self.dimension, before)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"] + ["scramble=True"] * bool(self.scramble)
        shown += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(shown)})"
