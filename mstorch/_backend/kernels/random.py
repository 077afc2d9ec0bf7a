"""What random numbers, which are drawn outside of the tape, tell autograd."""
from __future__ import annotations

from ..raw import Raw
from ..table import define
from ._nodes import flat


def _drawn(values: Raw, *parameters: Raw) -> Raw:
    return values


# As in torch: a sample follows the parameters that it was drawn with, by a gradient of zero.
define("drawn", cpu=flat("RandomBackward0", _drawn))
