"""torch.distributed.checkpoint.state_dict_saver: ``save``."""
from . import async_save, save, save_state_dict

__all__ = ["async_save", "save", "save_state_dict"]
