"""torch.distributed.checkpoint.filesystem: reader and writer of checkpoint folders."""
from ..._src.hook import missing as _missing
from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]

__getattr__ = _missing(__name__)
