"""torch.distributed.launcher: run functions in several processes."""
from . import api
from .api import LaunchConfig, elastic_launch

__all__ = ["LaunchConfig", "api", "elastic_launch"]
