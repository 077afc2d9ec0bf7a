"""apex.amp: mixed precision of old scripts, by torch.autocast (O1) or half precision with weights in float32 for the optimizer (O2)."""

from __future__ import annotations

from ... import absent_names
from .handle import disable_casts, scale_loss
from .initializing import initialize
from .scaling import load_state_dict, master_params, state_dict

_CASTS = ("half_function", "register_half_function", "float_function", "register_float_function")
_INSTEAD = {
    **dict.fromkeys(_CASTS, "torch.amp.custom_fwd(cast_inputs=…)"),
    **dict.fromkeys(("promote_function", "register_promote_function"), "a function within torch.autocast that casts its arguments"),
    "init": "amp.initialize",
}  # fmt: skip

__getattr__ = absent_names("apex.amp", _INSTEAD)
__all__ = ["disable_casts", "initialize", "load_state_dict", "master_params", "scale_loss", "state_dict"]
