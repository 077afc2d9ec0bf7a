"""torch.distributed.launcher: functions in several processes."""
from . import api
from .api import LaunchConfig, elastic_launch

__all__ = ["LaunchConfig", "api", "elastic_launch"]
