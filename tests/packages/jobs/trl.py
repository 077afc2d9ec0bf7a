"""Jobs of trl."""
from __future__ import annotations

import datasets
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

datasets.arrow_dataset.generate_fingerprint = lambda rows: "rows"  # which some releases of dill break
COMMON = {
    "output_dir": "out", "learning_rate": 1e-2, "logging_steps": 1, "save_strategy": "no", "report_to": [], "use_cpu": True, "bf16": False, "seed": 7,
    "disable_tqdm": True, "gradient_checkpointing": False, "num_train_epochs": 1,
}  # fmt: skip


def _model():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    ))  # fmt: skip


def _tokens():
    made = Tokenizer(models.WordLevel({f"t{i}": i for i in range(64)}, unk_token="t3"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="t0", eos_token="t2", bos_token="t1", padding_side="left")


def _history(trainer, *names):
    trainer.train()
    return [[entry.get(name) for name in names] for entry in trainer.state.log_history if "loss" in entry]


def job_sft():
    rows = datasets.Dataset.from_list([{"text": " ".join(f"t{(j * (i + 3)) % 60 + 3}" for j in range(6))} for i in range(8)])
    settings = SFTConfig(**COMMON, per_device_train_batch_size=2, max_length=8)
    trainer = SFTTrainer(model=_model(), args=settings, train_dataset=rows, processing_class=_tokens())
    return _history(trainer, "loss", "grad_norm", "mean_token_accuracy")


def job_dpo():
    rows = datasets.Dataset.from_list([{"prompt": f"t5 t{i + 4}", "chosen": f" t{i + 9} t7", "rejected": f" t{i + 20} t8 t9"} for i in range(8)])
    settings = DPOConfig(**COMMON, per_device_train_batch_size=2, beta=0.1)
    trainer = DPOTrainer(model=_model(), ref_model=_model(), args=settings, train_dataset=rows, processing_class=_tokens())
    return _history(trainer, "loss", "grad_norm", "rewards/margins")


def job_grpo():
    rows = datasets.Dataset.from_list([{"prompt": f"t5 t{i + 4} t{i + 9}"} for i in range(8)])
    settings = GRPOConfig(**COMMON, per_device_train_batch_size=4, num_generations=4, max_completion_length=6, max_steps=2)

    def even(completions, **_):
        return [float(len(set(text.split()))) for text in completions]

    trainer = GRPOTrainer(model=_model(), reward_funcs=even, args=settings, train_dataset=rows, processing_class=_tokens())
    return _history(trainer, "loss", "grad_norm", "reward")
