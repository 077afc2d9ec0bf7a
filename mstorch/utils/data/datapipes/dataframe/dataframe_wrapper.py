"""The data frame library of datapipes: pandas by default, if installed; another one by ``set_df_wrapper``."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import Any


@functools.cache
def _installed() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None


def _with_pandas() -> bool:
    return _installed() is not None


def _pandas() -> Any:
    if not _with_pandas():
        raise RuntimeError("DataFrames prototype requires pandas to function")
    return _installed()


class PandasWrapper:
    """Interface to pandas. Without pandas, nothing is a data frame, and creating one raises RuntimeError."""

    @classmethod
    def create_dataframe(cls, data: Sequence[Any], columns: Any) -> Any:
        """Return a data frame of the given rows."""
        return _pandas().DataFrame(data, columns=columns)

    @classmethod
    def is_dataframe(cls, data: Any) -> bool:
        """Return whether an object is a data frame."""
        return _with_pandas() and isinstance(data, _pandas().DataFrame)

    @classmethod
    def is_column(cls, data: Any) -> bool:
        """Return whether an object is a column."""
        return _with_pandas() and isinstance(data, _pandas().Series)

    @classmethod
    def iterate(cls, data: Any) -> Iterator[Any]:
        """Iterate over the rows, as named tuples."""
        _pandas()
        yield from data.itertuples(index=False)

    @classmethod
    def concat(cls, buffer: Any) -> Any:
        """Concatenate the rows of several frames."""
        return _pandas().concat(buffer)

    @classmethod
    def get_item(cls, data: Any, idx: int) -> Any:
        """Return row ``idx`` as a frame."""
        _pandas()
        return data[idx : idx + 1]

    @classmethod
    def get_len(cls, df: Any) -> int:
        """Return the number of rows."""
        _pandas()
        return len(df.index)

    @classmethod
    def get_columns(cls, df: Any) -> list[Any]:
        """Return the names of the columns."""
        _pandas()
        return list(df.columns.values.tolist())


default_wrapper: Any = PandasWrapper


def get_df_wrapper() -> Any:
    """Return the current wrapper class."""
    return default_wrapper


def set_df_wrapper(wrapper: Any) -> None:
    """Set the wrapper class, which needs the methods of PandasWrapper."""
    global default_wrapper
    default_wrapper = wrapper


def create_dataframe(data: Sequence[list[int]], columns: Any = None) -> Any:
    """Return a data frame of the given rows."""
    return default_wrapper.create_dataframe(data, columns)


def is_dataframe(data: Any) -> bool:
    """Return whether an object is a data frame."""
    return default_wrapper.is_dataframe(data)


def get_columns(data: Any) -> list[Any]:
    """Return the names of the columns."""
    return default_wrapper.get_columns(data)


def is_column(data: object) -> bool:
    """Return whether an object is a column."""
    return default_wrapper.is_column(data)


def concat(buffer: Any) -> Any:
    """Concatenate the rows of several frames."""
    return default_wrapper.concat(buffer)


def iterate(data: Any) -> Iterator[Any]:
    """Iterate over the rows."""
    return default_wrapper.iterate(data)


def get_item(data: Any, idx: int) -> Any:
    """Return row ``idx`` as a frame."""
    return default_wrapper.get_item(data, idx)


def get_len(df: Any) -> int:
    """Return the number of rows."""
    return default_wrapper.get_len(df)
