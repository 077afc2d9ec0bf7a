"""Gradients of padding: linear maps and their transposes."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.host.padding import numpy_pad, numpy_pad_like
from .. import vocabulary as v
from ..apply import rule
from ._places import Places


@rule("pad", label="ConstantPadNdBackward0")
def pad(node: Any, g: Any) -> Any:
    pads = node.args[0]
    back = tuple(-n for n in pads)
    return v.mapped(g, lambda array: numpy_pad(array, back, 0), lambda array: numpy_pad(array, pads, 0), "ConstantPadNdBackward0")


@rule("pad_like", label="ReflectionPadBackward0")
def pad_like(node: Any, g: Any) -> Any:
    shape = node.shapes[0]
    count = int(np.prod(shape))
    sources = numpy_pad_like(np.arange(count).reshape(shape), *node.args)
    places = Places((sources.reshape(-1),), (count,), v.shape_of(g), True)
    return v.reshape(places.add(g, "ReflectionPadBackward0"), shape)
