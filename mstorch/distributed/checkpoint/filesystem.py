"""torch.distributed.checkpoint.filesystem: reader and writer of checkpoint folders."""
from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
