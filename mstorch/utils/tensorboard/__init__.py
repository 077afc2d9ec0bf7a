"""torch.utils.tensorboard: event files by way of the tensorboard package."""
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
