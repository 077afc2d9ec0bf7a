"""torch.utils._dtype_abbrs: a short name for each dtype."""
from .._src.core import dtype as dtypes

_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "complex128": "c128", "complex64": "c64",
    "complex32": "c32", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "bool": "b8",
}  # fmt: skip
dtype_abbrs = {getattr(dtypes, name): short for name, short in _SHORT.items() if hasattr(dtypes, name)}

__all__ = ["dtype_abbrs"]
