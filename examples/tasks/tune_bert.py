"""BERT with LoRA adapters learns whether a made-up sentence has more good words than bad: python -m mstorch tune_bert.py [--device npu]"""
import argparse

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

WORDS, GOOD, BAD = 100, range(10, 30), range(30, 50)


def sentences(count, length, generator):
    """Tokens (count, length), 0 where a sentence has ended, and labels (count,)."""
    tokens = torch.randint(1, WORDS, (count, length), generator=generator)
    lengths = torch.randint(length // 2, length + 1, (count, 1), generator=generator)
    tokens = tokens.masked_fill(torch.arange(length) >= lengths, 0)
    good = ((tokens >= GOOD.start) & (tokens < GOOD.stop)).sum(1)
    bad = ((tokens >= BAD.start) & (tokens < BAD.stop)).sum(1)
    return tokens, (good > bad).long()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    config = BertConfig(
        vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    adapters = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, target_modules=["query", "value"])
    model = get_peft_model(BertForSequenceClassification(config), adapters).to(options.device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=5e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 2, options.steps)
    for step in range(options.steps):
        tokens, labels = sentences(32, 16, generator)
        tokens, labels = tokens.to(options.device), labels.to(options.device)
        loss = model(input_ids=tokens, attention_mask=(tokens > 0).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    share = sum(parameter.numel() for parameter in trained) / sum(parameter.numel() for parameter in model.parameters())
    print(f"trained {share:.1%} of the parameters")


if __name__ == "__main__":
    main()
