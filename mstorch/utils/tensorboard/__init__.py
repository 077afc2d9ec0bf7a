"""torch.utils.tensorboard: event files, written by the tensorboard package."""
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
