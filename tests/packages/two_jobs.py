"""Examples of transformers in two processes, with tiny random models: ``python -m mstorch.distributed.run --nproc_per_node 2 -m
tests.packages.two_jobs cpu|npu``. They are written as on GPUs; the first process prints what ``device_jobs`` does.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from typing import Any

import torch


class _Pairs(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, i: int) -> dict[str, Any]:
        ids = (torch.arange(8) * (i + 2) + i) % 40 + 3
        return {"input_ids": ids, "attention_mask": torch.ones(8, dtype=torch.int64), "labels": i % 3}


def _arguments(kind: Any, place: str, **options: Any) -> Any:
    return kind(
        output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, logging_steps=1, report_to=[], disable_tqdm=True, use_cpu=place == "cpu",
        ddp_backend="gloo" if place == "cpu" else None, **options,
    )  # fmt: skip


def classification(place: str) -> Any:
    """Classify sentences with the Trainer, with evaluation and checkpoints."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

    set_seed(3)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=48, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, max_position_embeddings=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=3,
    ))  # fmt: skip
    arguments = _arguments(TrainingArguments, place, learning_rate=5e-3, eval_strategy="epoch", save_strategy="epoch", weight_decay=0.01, seed=3)

    def right(found: Any) -> dict[str, float]:
        return {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}

    trainer = Trainer(model=model, args=arguments, train_dataset=_Pairs(), eval_dataset=_Pairs(), compute_metrics=right)
    assert trainer.args.device.type == place and trainer.args.world_size == 2
    trainer.train()
    return [[row.get(name) for name in ("loss", "grad_norm", "eval_loss", "eval_accuracy")] for row in trainer.state.log_history]


def language_model(place: str) -> Any:
    """Train with accelerate in a hand-written loop: gradient accumulation over two batches, a schedule, clipping, evaluation on both
    processes."""
    from accelerate import Accelerator
    from transformers import GPT2Config, GPT2LMHeadModel, get_scheduler, set_seed

    set_seed(5)
    accelerator = Accelerator(cpu=place == "cpu", gradient_accumulation_steps=2)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0
    ))  # fmt: skip
    rows = [{"input_ids": (torch.arange(12) * (i + 3)) % 60 + 2} for i in range(32)]
    loader = torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = get_scheduler("linear", optimizer, num_warmup_steps=1, num_training_steps=8)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    found = []
    for _ in range(2):
        model.train()
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch, labels=batch["input_ids"]).loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            losses = [accelerator.gather_for_metrics(model(**batch, labels=batch["input_ids"]).loss.repeat(4)) for batch in loader]
        found.append(torch.cat(losses).mean().item())
    assert accelerator.device.type == place
    return [*found, accelerator.num_processes]


def translation(place: str) -> Any:
    """Train a sequence-to-sequence model, and return what it generates."""
    from transformers import (
        Seq2SeqTrainer,
        Seq2SeqTrainingArguments,
        T5Config,
        T5ForConditionalGeneration,
        default_data_collator,
        set_seed,
    )

    set_seed(7)
    rows = [
        {"input_ids": ((torch.arange(6) * (i + 2)) % 30 + 2).tolist(), "labels": ((torch.arange(5) * (i + 3)) % 30 + 2).tolist()} for i in range(16)
    ]
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=1, num_heads=2, dropout_rate=0.0, decoder_start_token_id=0,
        pad_token_id=0, eos_token_id=1,
    ))  # fmt: skip
    arguments = _arguments(Seq2SeqTrainingArguments, place, learning_rate=1e-2, save_strategy="no")
    trainer = Seq2SeqTrainer(model=model, args=arguments, train_dataset=rows, data_collator=default_data_collator)
    trainer.train()
    given = torch.tensor([[3, 5, 7, 9]]).to(arguments.device)
    losses = [[row["loss"], row["grad_norm"]] for row in trainer.state.log_history if "loss" in row]
    return [losses, trainer.model.generate(given, max_new_tokens=6, do_sample=False).tolist()]


def main(place: str) -> None:
    """Run the jobs, each in an empty folder of a process."""
    warnings.simplefilter("ignore")
    for job in (classification, language_model, translation):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found = job(place)
            os.chdir("/")
        if os.environ["RANK"] == "0":
            os.write(1, ("JOB " + json.dumps([job.__name__, found]) + "\n").encode())
    if place != "cpu":
        from mstorch._src.backend import fake

        assert fake.computed.total() > 20, "nothing was computed on the device"


if __name__ == "__main__":
    main(sys.argv[1])
