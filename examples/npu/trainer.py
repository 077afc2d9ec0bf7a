"""transformers' Trainer; accelerate, which it needs, finds the NPU by itself."""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    """Sentences that count upwards."""

    def __len__(self):
        return 32

    def __getitem__(self, index):
        row = (torch.arange(12) + index) % 50
        return {"input_ids": row, "labels": row}


def main():
    torch.manual_seed(0)
    without = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, **without))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=8, max_steps=8, logging_steps=1, report_to=[])
        trainer = Trainer(model, arguments, train_dataset=Rows())
        trainer.train()
    for number, line in enumerate(line for line in trainer.state.log_history if "loss" in line):
        print(f"step {number}: {float(line['loss']):.3f}")


if __name__ == "__main__":
    main()
