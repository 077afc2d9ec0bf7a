"""torch.distributed.checkpoint.state_dict_saver: ``save``."""
from ..._src.hook import missing as _missing
from . import async_save, save, save_state_dict

__all__ = ["async_save", "save", "save_state_dict"]

__getattr__ = _missing(__name__)
