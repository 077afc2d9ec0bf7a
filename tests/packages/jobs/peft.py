"""Jobs of peft."""
from __future__ import annotations

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

IDS = torch.tensor([[1, 5, 9, 13, 4]])


def _base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4))


def job_lora():
    model = get_peft_model(_base(), LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(input_ids=IDS, labels=IDS).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    model.save_pretrained("adapter")
    back = PeftModel.from_pretrained(_base(), "adapter").eval()
    logits = model(IDS).logits
    merged = back.merge_and_unload()
    return losses, logits, float((merged(IDS).logits - logits).abs().max()), model.get_nb_trainable_parameters()
