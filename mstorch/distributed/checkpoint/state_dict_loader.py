"""torch.distributed.checkpoint.state_dict_loader: ``load``."""
from . import load, load_state_dict

__all__ = ["load", "load_state_dict"]
