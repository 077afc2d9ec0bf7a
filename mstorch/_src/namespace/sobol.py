"""Sobol sequences: direction numbers, points in Gray-code order, and scrambling of their bits.

Sources: S. Joe and F. Y. Kuo, *Constructing Sobol sequences with better two-dimensional projections*, SIAM J. Sci. Comput. 30, 2008
(primitive polynomials and initial direction numbers, shipped with SciPy); I. A. Antonov and V. M. Saleev, 1979 (Gray code); J. Matoušek,
*On the L2-discrepancy for anchored boxes*, J. Complexity 14, 1998 (linear matrix scrambling).

In torch these are functions with a leading underscore that write into their first argument; ``torch.quasirandom`` builds on them.
"""
from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import numpy as np

import mstorch as torch

from ..backend.arrays import Array
from ..core.no_memory import tells_no_memory

BITS = 30
DIMENSIONS = 21201


@functools.cache
def _table() -> tuple[Array, Array]:
    """Return the polynomials, encoded as integers, and the initial direction numbers, (dimensions, 18), from SciPy's file."""
    file = resources.files("scipy.stats").joinpath("_sobol_direction_numbers.npz")
    if not file.is_file():
        raise NotImplementedError("mstorch: this SciPy has no file of Sobol direction numbers")
    with resources.as_file(file) as path, np.load(path) as parts:
        return parts["poly"], parts["vinit"]


def directions(dimension: int) -> Array:
    """Return the direction numbers of the first ``dimension`` coordinates as 30-bit integers, (dimension, 30).

    Coordinates whose polynomials have the same degree are computed together.
    """
    polynomials, first = (part[:dimension].astype(np.int64) for part in _table())
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    numbers = np.ones((dimension, BITS), np.int64)
    for degree in np.unique(degrees[degrees > 0]):
        rows = np.flatnonzero(degrees == degree)
        part = np.empty((rows.size, BITS), np.int64)
        known = min(int(degree), BITS)
        part[:, :known] = first[rows, :known]
        taken = [(polynomials[rows] >> (degree - step)) & 1 for step in range(1, degree + 1)]
        for place in range(known, BITS):
            part[:, place] = part[:, place - degree]
            for step, bit in enumerate(taken, 1):
                part[:, place] ^= (bit * part[:, place - step]) << step
        numbers[rows] = part
    return numbers << np.arange(BITS - 1, -1, -1)


def _int64_array(name: str, tensor: Any) -> Array:
    if tensor.dtype != torch.int64:
        raise RuntimeError(f"{name} needs to be of type {torch.int64}")
    values: Array = tensor.numpy()
    return values


def _sobol_engine_initialize_state_(input: Any, dimension: int) -> Any:
    """Write the direction numbers into an int64 tensor, (dimension, 30)."""
    if input.dtype != torch.int64:
        raise RuntimeError("sobolstate needs to be of type Long")
    return input.copy_(torch.from_numpy(directions(dimension)))


def _parity(bits: Array) -> Array:
    for shift in (16, 8, 4, 2, 1):
        bits = bits ^ (bits >> shift)
    return bits & 1


def _sobol_engine_scramble_(input: Any, ltm: Any, dimension: int) -> Any:
    """Multiply the direction numbers, as bit vectors, by lower triangular bit matrices, (dimension, 30, 30), modulo 2."""
    numbers, matrices = _int64_array("sobolstate", input), np.array(_int64_array("ltm", ltm))
    matrices[:, np.arange(BITS), np.arange(BITS)] = 1
    lines = matrices @ (np.int64(1) << np.arange(BITS - 1, -1, -1))
    mixed = np.zeros((dimension, BITS), np.int64)
    for place in range(BITS):
        mixed |= _parity(lines[:dimension, place, None] & numbers[:dimension]) << (BITS - 1 - place)
    return input.copy_(torch.from_numpy(mixed))


def _sobol_engine_ff_(input: Any, n: int, sobolstate: Any, dimension: int, num_generated: int) -> Any:
    """Advance the integers of a point, (dimension,), by ``n`` points."""
    if n <= 0:
        return input
    point = np.array(_int64_array("quasi", input))
    start, end = num_generated, num_generated + n
    changed = (start ^ (start >> 1)) ^ (end ^ (end >> 1))
    state = _int64_array("sobolstate", sobolstate)
    for bit in range(changed.bit_length()):
        if changed >> bit & 1:
            point ^= state[:, bit]
    return input.copy_(torch.from_numpy(point))


@tells_no_memory
def _sobol_engine_draw(
    quasi: Any, n: int, sobolstate: Any, dimension: int, num_generated: int, dtype: torch.dtype
) -> tuple[Any, Any]:
    """Return the ``n`` points after ``quasi``, (n, dimension), and the integers of the last point."""
    kind = torch.float32 if dtype is None else dtype
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"_sobol_engine_draw(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    for name, tensor in (("sobolstate", sobolstate), ("quasi", quasi)):
        if tensor.dtype != torch.int64:
            raise RuntimeError(f"{name} needs to be of type Long")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {dimension}]")
    if kind not in (torch.float32, torch.float64):
        names = {"float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "complex64": "ComplexFloat"}
        short = str(kind).split(".")[-1]
        raise NotImplementedError(f'"_sobol_engine_draw" not implemented for \'{names.get(short, short)}\'')
    point = np.array(_int64_array("quasi", quasi))
    counts = np.arange(num_generated + 1, num_generated + 1 + n)
    places = np.frexp((counts & -counts).astype(np.float64))[1] - 1  # the lowest bit that changes from a count to the next
    integers = np.empty((n + 1, dimension), np.int64)
    integers[0] = point
    integers[1:] = _int64_array("sobolstate", sobolstate)[:dimension].T[places]
    np.bitwise_xor.accumulate(integers, axis=0, out=integers)
    points = torch.from_numpy(integers[1:].astype(kind_of(kind))) * 2.0**-BITS
    return points, torch.from_numpy(integers[-1].copy())


def kind_of(dtype: torch.dtype) -> type:
    """Return NumPy's type for float32 or float64."""
    return np.float64 if dtype == torch.float64 else np.float32
