"""Reading .safetensors files, which torch.load recognizes by name: a JSON header, then the values."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np

from mstorch._src.serialization import adapter
from mstorch._src.serialization.loaded import ITEMSIZE, LoadedStorage
from mstorch._src.serialization.locations import default_restore_location

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides
from ..core.device import device

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu", "F4": "float4_e2m1fn_x2",
}  # fmt: skip
# The format's own limit.
_MAX_HEADER = 100_000_000


def load(path: str, map_location: Any) -> dict[str, Any]:
    """Return the tensors of a file by name. Raise RuntimeError for a damaged file or a map_location of two devices."""
    if map_location is not None and not isinstance(map_location, (str, bytes, device)):
        raise RuntimeError(
            "Loading safetensors file with dict or callable map_location is not supported. Use a device string or "
            "torch.device instead."
        )
    where = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location or "cpu")
    with open(path, "rb") as file:
        data = np.fromfile(file, np.uint8)
    begin = 8 + struct.unpack("<Q", data[:8].tobytes())[0] if data.size >= 8 else 0
    if not 8 < begin <= min(data.size, 8 + _MAX_HEADER):
        raise RuntimeError(f"{path} is no safetensors file: its header is cut or missing")
    try:
        header = json.loads(data[8:begin].tobytes())
        header.pop("__metadata__", None)
        _check_places(header, data.size - begin)
        return {name: _tensor(data[begin:], where, **entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RuntimeError(f"{path} is no safetensors file: {type(error).__name__}: {str(error)[:300]}") from error


def _check_places(header: dict[str, Any], size: int) -> None:
    """Raise ValueError unless the tensors' byte ranges follow one another without gaps or overlap and fill the file: overlapping ones could
    need more memory than the file's size."""
    end = 0
    for begin, after in sorted(tuple(entry["data_offsets"]) for entry in header.values()):
        if begin != end or after < begin:
            raise ValueError(f"the values of a tensor begin at byte {begin} where {end} is due")
        end = after
    if end != size:
        raise ValueError(f"the tensors have {end} bytes, the file {size}")


def _tensor(values: Array, where: str, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    name = _DTYPES[dtype]
    begin, end = data_offsets
    if dtype == "F4" and shape and type(shape[-1]) is int:  # the file's shape counts 4-bit numbers
        shape = [*shape[:-1], -(-shape[-1] // 2)]
    if len(shape) > 64:
        raise ValueError(f"{len(shape)} dimensions")
    if any(type(number) is not int or number < 0 for number in (begin, end, *shape)):
        raise ValueError(f"shape {shape} or offsets {data_offsets} are no sizes")
    if end > values.size or end - begin != math.prod(shape) * ITEMSIZE[name]:
        raise ValueError(f"a tensor of {dtype} {shape} does not fit the bytes {begin} to {end}")
    # Each tensor has its own memory, so that it is freed when the caller drops it.
    storage = default_restore_location(LoadedStorage(values[begin:end].copy()), where)
    return adapter.build_tensor(storage, name, 0, shape, contiguous_strides(tuple(shape)), False)
