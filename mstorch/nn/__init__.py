"""torch.nn: layers, losses and containers."""
from .modules.module import Module
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Module", "Parameter"]
