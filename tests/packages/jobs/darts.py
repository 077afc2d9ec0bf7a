"""Jobs of darts."""

from __future__ import annotations

import numpy as np
from darts import TimeSeries
from darts.models import (
    BlockRNNModel,
    DLinearModel,
    NBEATSModel,
    NHiTSModel,
    TCNModel,
    TFTModel,
    TiDEModel,
    TransformerModel,
    TSMixerModel,
)
from darts.utils.likelihood_models.torch import GaussianLikelihood


def job_forecasts():
    series = TimeSeries.from_values((np.sin(np.arange(80) / 5) + np.arange(80) / 40).astype("float32"))
    common = {
        "input_chunk_length": 12,
        "output_chunk_length": 4,
        "n_epochs": 2,
        "batch_size": 16,
        "random_state": 0,
        "pl_trainer_kwargs": {"accelerator": "cpu", "enable_progress_bar": False, "logger": False, "enable_model_summary": False},
    }
    models = [
        NBEATSModel(num_stacks=2, num_blocks=1, layer_widths=16, **common),
        TCNModel(num_filters=2, **common),
        BlockRNNModel(model="LSTM", hidden_dim=8, **common),
        TransformerModel(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, **common),
        DLinearModel(**common),
        NHiTSModel(num_stacks=2, layer_widths=16, **common),
        TiDEModel(hidden_size=8, use_reversible_instance_norm=True, **common),
        TSMixerModel(hidden_size=8, ff_size=8, num_blocks=1, **common),
        TFTModel(hidden_size=4, num_attention_heads=2, add_relative_index=True, likelihood=GaussianLikelihood(), **common),
    ]
    return [model.fit(series, verbose=False).predict(6).values() for model in models]
