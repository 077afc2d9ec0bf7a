"""The repr of a sparse tensor, as in torch."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import _tensor_str
from ..._tensor import Tensor
from ..core.dtype import get_default_dtype
from ..core.formats import sparse_coo
from ..core.tensor_base import array_of
from ..tape.node import shown_name


def _numbers(tensor: Tensor, indent: int) -> str:
    array = np.asarray(array_of(tensor))
    if tensor._ms_dtype.name == "bfloat16":
        array = array.astype(np.float32)
    text = _tensor_str.values_text(array, indent)
    if tensor.numel() == 0:
        text += f", size={tuple(tensor.shape)}"
    return text


def text(self: Any, names: tuple[str, ...]) -> str:
    """Return ``tensor(indices=…, values=…, size=…, nnz=…, layout=…)``."""
    prefix = "tensor("
    lines = []
    for name, tensor in zip((*names, "values"), (*self._index, self._values_part)):
        opening = f"{name}=tensor("
        lines.append(opening + _numbers(tensor, len(prefix) + len(opening)) + ")")
    suffixes = [f"size={tuple(self._size)}", f"nnz={self._nnz()}"]
    default = get_default_dtype().name
    usual = (default, "complex128" if default == "float64" else "complex64", "int64", "bool")
    if self._ms_dtype.name not in usual:
        suffixes.append(f"dtype=torch.{self._ms_dtype.name}")
    suffixes.append(f"layout=torch.{self._layout.name}")
    maker = shown_name(self)
    if maker is not None:
        suffixes.append(f"grad_fn=<{maker}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    body = prefix + (",\n" + " " * len(prefix)).join(lines)
    return _tensor_str.close_text(body, suffixes, len(prefix), new_line=self._layout is sparse_coo)
