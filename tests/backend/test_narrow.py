"""Arrays with few columns: results that are computed column by column equal NumPy's."""
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from mstorch._src.backend.host import narrow

ROWS = 3000


def _windows(columns):
    """Return arrays of ROWS rows in several memory orders, by name."""
    wide = np.arange(float(2 * ROWS * (columns + 2)), dtype=np.float32).reshape(2 * ROWS, columns + 2)
    return {
        "part of rows": wide[:ROWS, 1 : columns + 1],
        "every second row": wide[::2, :columns],
        "backwards": wide[ROWS - 1 :: -1, columns - 1 :: -1] if columns > 1 else wide[ROWS - 1 :: -1, :1],
        "transposed": wide.reshape(-1)[: ROWS * columns].reshape(columns, ROWS).T,
        "overlapping": as_strided(wide, (ROWS, columns), (4, 4)),
        "one row": np.broadcast_to(wide[3, :columns], (ROWS, columns)),
        "one column": np.broadcast_to(wide[:ROWS, :1], (ROWS, columns)),
        "volume": wide[:ROWS, :columns].reshape(ROWS // 30, 30, columns)[::-1],
    }


@pytest.mark.parametrize("columns", range(1, 9))
def test_copies_and_assignments(columns):
    for name, window in _windows(columns).items():
        made = narrow.row_major(window)
        assert made.flags.c_contiguous and np.array_equal(made, window), name
        for into in _windows(columns).values():
            if into.shape != window.shape or not into.flags.writeable or into.strides == (4, 4):
                continue
            target, wanted = into.copy("K"), into.copy("K")
            wanted[...] = window
            narrow.assign(target, window)
            assert np.array_equal(target, wanted), name


@pytest.mark.parametrize("columns", range(1, 6))
def test_all_values_are_read_before_one_is_written(columns):
    memory = np.arange(float((ROWS + 1) * (columns + 1)), dtype=np.float32).reshape(ROWS + 1, columns + 1)
    for target, values in (
        (np.s_[1:, 1:], np.s_[:-1, :-1]), (np.s_[:-1, 1:], np.s_[1:, :-1]), (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:, :-1], np.s_[:1, 1:])
    ):  # fmt: skip
        found, wanted = memory.copy(), memory.copy()
        wanted[target] = wanted[values].copy()
        narrow.assign(found[target], found[values])
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("columns", range(1, 6))
def test_arithmetic(columns):
    windows = _windows(columns)
    taken = 0
    for first in windows.values():
        for second in [*windows.values(), np.float32(3) * np.ones((), np.float32)]:
            if second.ndim and second.shape != first.shape:
                continue
            for function in (np.add, np.less):
                found = narrow.by_columns(function, first.shape, first, second)
                taken += found is not None
                if found is not None:
                    wanted = function(first, second)
                    assert found.dtype == wanted.dtype and found.flags.c_contiguous and np.array_equal(found, wanted)
    assert bool(taken) == (1 < columns < 5)
