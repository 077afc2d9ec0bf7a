"""The reduction modes of losses, with torch's codes."""

from .._src.ops.losses.loss_reduction import get_enum as get_enum
from .._src.ops.losses.loss_reduction import legacy_get_enum as legacy_get_enum
from .._src.ops.losses.loss_reduction import legacy_get_string as legacy_get_string
