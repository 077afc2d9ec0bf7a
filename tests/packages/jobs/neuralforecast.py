"""Jobs of neuralforecast."""
from __future__ import annotations

import logging

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MAE, DistributionLoss
from neuralforecast.models import LSTM, NBEATS, NHITS, DLinear, PatchTST

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False, "accelerator": "cpu", "devices": 1}


def _rows():
    steps = np.arange(48)
    parts = [pd.DataFrame({"unique_id": name, "ds": steps, "y": (np.sin(steps / 4) + shift).astype("float32")}) for name, shift in (("a", 0.0), ("b", 2.0))]
    return pd.concat(parts, ignore_index=True)


def _forecast(*models):
    forecast = NeuralForecast(models=list(models), freq=1)
    forecast.fit(_rows(), val_size=4)
    found = forecast.predict().drop(columns=["unique_id", "ds"])
    forecast.save("kept", overwrite=True, save_dataset=True)
    again = NeuralForecast.load("kept").predict().drop(columns=["unique_id", "ds"])
    return list(found.columns), found.to_numpy().tolist(), again.to_numpy().tolist()


def job_point_forecasts():
    shared = {"h": 4, "input_size": 8, "max_steps": 3, "batch_size": 2, "windows_batch_size": 8, "random_seed": 1, "loss": MAE(), **QUIET}
    return _forecast(
        NHITS(**shared, mlp_units=3 * [[16, 16]]), NBEATS(**shared, mlp_units=3 * [[16, 16]]), DLinear(**shared),
        PatchTST(**shared, hidden_size=8, n_heads=2, encoder_layers=1, linear_hidden_size=16, patch_len=4, stride=2),
    )  # fmt: skip


def job_distributions():
    shared = {"h": 4, "input_size": 8, "max_steps": 3, "batch_size": 2, "random_seed": 1, **QUIET}
    return _forecast(LSTM(**shared, encoder_hidden_size=8, decoder_hidden_size=8, loss=DistributionLoss("Normal", level=[80])))
