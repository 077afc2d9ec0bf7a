"""mamba_ssm.utils.hf: sizes and weights of a model, from a folder or from Hugging Face's hub."""
from __future__ import annotations

import json
import os
from typing import Any

import mstorch as torch


def _file(model_name: str, name: str) -> str:
    path = os.path.join(model_name, name)
    if os.path.exists(path):
        return path
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise ImportError(f"{model_name} is not a folder with {name}; files of a hub need huggingface_hub") from error
    return hf_hub_download(model_name, name)


def load_config_hf(model_name: str) -> dict[str, Any]:
    """Return a model's sizes (config.json)."""
    with open(_file(model_name, "config.json")) as file:
        return json.load(file)


def load_state_dict_hf(model_name: str, device: Any = None, dtype: Any = None) -> dict[str, torch.Tensor]:
    """Return a model's weights (pytorch_model.bin), in another dtype on the CPU before they go to the device."""
    weights = torch.load(_file(model_name, "pytorch_model.bin"), map_location=device if dtype in (None, torch.float32) else "cpu")
    if dtype is not None:
        weights = {name: weight.to(dtype) for name, weight in weights.items()}
    return {name: weight.to(device) for name, weight in weights.items()}


__all__ = ["load_config_hf", "load_state_dict_hf"]
