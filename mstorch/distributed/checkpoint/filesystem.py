"""torch.distributed.checkpoint.filesystem: checkpoints in folders."""
from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
