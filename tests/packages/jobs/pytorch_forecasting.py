"""Jobs of pytorch_forecasting."""
from __future__ import annotations

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer, NaNLabelEncoder
from pytorch_forecasting.metrics import QuantileLoss


def _rows():
    steps = np.tile(np.arange(40), 3)
    group = np.repeat(["a", "b", "c"], 40)
    value = np.sin(steps / 5) + np.repeat([1.0, 2.0, 3.0], 40)
    return pd.DataFrame({"step": steps, "group": group, "value": value.astype("float32")})


def _fitted(model, data):
    torch.manual_seed(1)
    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        gradient_clip_val=0.1, limit_train_batches=3,
    )  # fmt: skip
    trainer.fit(model, data.to_dataloader(train=True, batch_size=8, num_workers=0, shuffle=False))
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt"))
    x, _ = next(iter(data.to_dataloader(train=False, batch_size=8, num_workers=0)))
    with torch.no_grad():
        return float(trainer.callback_metrics["train_loss_epoch"]), model.eval()(x)["prediction"]


def job_temporal_fusion_transformer():
    data = TimeSeriesDataSet(
        _rows(), time_idx="step", target="value", group_ids=["group"], max_encoder_length=12, max_prediction_length=4, static_categoricals=["group"],
        time_varying_known_reals=["step"], time_varying_unknown_reals=["value"], target_normalizer=GroupNormalizer(groups=["group"]),
        add_relative_time_idx=True, add_encoder_length=True,
    )  # fmt: skip
    torch.manual_seed(0)
    model = TemporalFusionTransformer.from_dataset(
        data, learning_rate=0.01, hidden_size=8, attention_head_size=2, dropout=0.1, hidden_continuous_size=4, loss=QuantileLoss(), log_interval=-1
    )
    return _fitted(model, data)


def job_nbeats():
    data = TimeSeriesDataSet(
        _rows(), time_idx="step", target="value", group_ids=["group"], max_encoder_length=12, max_prediction_length=4,
        time_varying_unknown_reals=["value"], categorical_encoders={"group": NaNLabelEncoder()}, target_normalizer=GroupNormalizer(groups=["group"]),
    )  # fmt: skip
    torch.manual_seed(0)
    model = NBeats.from_dataset(data, learning_rate=0.01, widths=[16, 16], num_blocks=[1, 1], num_block_layers=[2, 2], expansion_coefficient_lengths=[3, 5],
                                backcast_loss_ratio=0.1, log_interval=-1)  # fmt: skip
    return _fitted(model, data)
