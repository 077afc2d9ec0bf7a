"""mamba_ssm (2.3): selective scans, Mamba's and Mamba-2's layers and models, by torch's operations."""
from __future__ import annotations

from .. import absent_names
from .models.mixer_seq_simple import MambaLMHeadModel
from .modules.mamba2 import Mamba2
from .modules.mamba_simple import Mamba
from .ops.selective_scan_interface import mamba_inner_fn, selective_scan_fn

__version__ = "2.3.2"

__getattr__ = absent_names("mamba_ssm", {"Mamba3": "Mamba2"})
__all__ = ["Mamba", "Mamba2", "MambaLMHeadModel", "mamba_inner_fn", "selective_scan_fn"]
