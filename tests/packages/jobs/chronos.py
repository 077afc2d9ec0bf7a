"""Jobs of chronos-forecasting, with tiny random models."""
from __future__ import annotations

import torch
from chronos import ChronosBoltPipeline, ChronosConfig
from chronos.chronos import ChronosModel, ChronosPipeline
from chronos.chronos_bolt import ChronosBoltModelForForecasting
from transformers import T5Config, T5ForConditionalGeneration


def _settings(**more):
    return T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **more)


def job_bolt():
    torch.manual_seed(0)
    config = _settings(is_gated_act=False, chronos_config={
        "context_length": 32, "prediction_length": 8, "input_patch_size": 4, "input_patch_stride": 4, "quantiles": [0.1, 0.5, 0.9], "use_reg_token": True,
    }, reg_token_id=1)  # fmt: skip
    model = ChronosBoltModelForForecasting(config)
    series = torch.sin(torch.arange(64) / 3.0).reshape(2, 32)
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-3), []
    for _ in range(3):
        torch.manual_seed(1)
        loss = model(context=series, target=torch.cos(torch.arange(16) / 3.0).reshape(2, 8)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained("saved")
    return losses, ChronosBoltPipeline(model.eval()).predict(series, prediction_length=8)


def job_tokens():
    torch.manual_seed(0)
    config = ChronosConfig(
        tokenizer_class="MeanScaleUniformBins", tokenizer_kwargs={"low_limit": -15.0, "high_limit": 15.0}, context_length=32, prediction_length=6, n_tokens=64,
        n_special_tokens=2, pad_token_id=0, eos_token_id=1, use_eos_token=True, model_type="seq2seq", num_samples=3, temperature=1.0, top_k=20, top_p=1.0,
    )  # fmt: skip
    model = T5ForConditionalGeneration(_settings()).eval()
    pipeline = ChronosPipeline(tokenizer=config.create_tokenizer(), model=ChronosModel(config, model))
    torch.manual_seed(2)
    return pipeline.predict(torch.sin(torch.arange(32) / 3.0), prediction_length=6, num_samples=3)
