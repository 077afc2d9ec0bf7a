"""Jobs of transformers, with tiny random models."""
from __future__ import annotations

import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPVisionConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
)  # fmt: skip


def _gradients(model):
    return sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)


def _step(model, **inputs):
    model.train()
    torch.manual_seed(1)
    out = model(**inputs)
    out.loss.backward()
    return out.loss, out.logits, _gradients(model)


def _llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ))  # fmt: skip


def _gpt2():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0))


IDS = torch.tensor([[1, 5, 9, 13, 4], [1, 7, 8, 3, 6]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def job_bert():
    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    masked = BertForMaskedLM(config)
    first = _step(masked, input_ids=IDS, attention_mask=MASK, labels=IDS)
    classifier = BertForSequenceClassification(config)
    return first, _step(classifier, input_ids=IDS, attention_mask=MASK, labels=torch.tensor([0, 1])), masked.eval()(IDS, MASK).logits


def job_bert_int8():
    """Every linear layer has 8-bit weights, and quantizes its input at each call."""
    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    model = BertForSequenceClassification(config).eval()
    quantized = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    layers = [layer for layer in quantized.modules() if isinstance(layer, torch.ao.nn.quantized.dynamic.Linear)]
    with torch.no_grad():
        plain = model(input_ids=IDS, attention_mask=MASK).logits
        found = quantized(input_ids=IDS, attention_mask=MASK, output_hidden_states=True)
    weights = [(layer.weight().int_repr().to(torch.int64), layer.weight().q_scale()) for layer in layers]
    return len(layers), weights, found.logits, found.hidden_states, plain


def job_gpt2():
    return _step(_gpt2(), input_ids=IDS, attention_mask=MASK, labels=IDS)


def job_llama():
    return _step(_llama(), input_ids=IDS, attention_mask=MASK, labels=IDS)


def job_t5():
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=2,
    ))  # fmt: skip
    return _step(model, input_ids=IDS, attention_mask=MASK, labels=IDS), model.eval().generate(IDS, max_new_tokens=6, do_sample=False)


def job_vit():
    model = ViTForImageClassification(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=16, patch_size=4, num_labels=3,
    ))  # fmt: skip
    return _step(model, pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 2]))


def job_clip():
    text = CLIPTextConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16,
                          bos_token_id=1, eos_token_id=2)  # fmt: skip
    vision = CLIPVisionConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4)
    model = CLIPModel(CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16))
    out = model(input_ids=IDS, attention_mask=MASK, pixel_values=torch.randn(2, 3, 16, 16), return_loss=True)
    out.loss.backward()
    return out.loss, out.logits_per_image, out.text_embeds, _gradients(model)


def job_whisper():
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=64, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None,
    ))  # fmt: skip
    return _step(model, input_features=torch.randn(2, 8, 32), labels=IDS)


def job_generate_greedy():
    return [model.eval().generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=12, do_sample=False) for model in (_gpt2(), _llama())]


def job_generate_sampled():
    results = []
    for model in (_gpt2(), _llama()):
        torch.manual_seed(5)
        results.append(model.eval().generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=12, do_sample=True, top_k=20, top_p=0.9, temperature=1.3))
    return results


def job_generate_beam():
    return [model.eval().generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=8, num_beams=3, do_sample=False) for model in (_gpt2(), _llama())]


def job_files():
    model = _llama()
    model.save_pretrained("saved")
    back, info = AutoModelForCausalLM.from_pretrained("saved", output_loading_info=True)
    x = model.eval()(IDS).logits
    return x, float((back.eval()(IDS).logits - x).abs().max()), sorted(map(str, info["missing_keys"]))


def job_trainer():
    from transformers import Trainer, TrainingArguments

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, i):
            row = (torch.arange(6) * (i + 3)) % 60 + 3
            return {"input_ids": row, "labels": row}

    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-2, logging_steps=1, save_strategy="no", report_to=[],
        use_cpu=True, seed=7, disable_tqdm=True, weight_decay=0.01, warmup_steps=2, max_grad_norm=0.5, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = Trainer(model=_gpt2(), args=arguments, train_dataset=Rows(), eval_dataset=Rows())
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], trainer.evaluate()["eval_loss"]
