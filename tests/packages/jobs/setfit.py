"""Jobs of setfit, with a tiny random model."""
from __future__ import annotations

import datasets
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from setfit import SetFitModel, Trainer, TrainingArguments
from transformers import BertConfig, BertModel, BertTokenizerFast

datasets.arrow_dataset.generate_fingerprint = lambda rows: "rows"  # which some releases of dill break


def job_few_shots():
    with open("vocab.txt", "w") as file:
        file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(59))]))
    BertTokenizerFast("vocab.txt").save_pretrained("base")
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)).save_pretrained("base")
    inner = Transformer("base", max_seq_length=16)
    body = SentenceTransformer(modules=[inner, Pooling(16)], device="cpu")
    torch.manual_seed(0)
    head_model = SetFitModel(model_body=body, model_head=None, labels=["no", "yes"])
    from sklearn.linear_model import LogisticRegression

    head_model.model_head = LogisticRegression()
    rows = datasets.Dataset.from_dict({"text": [f"w{i} w{i + 1} w{i % 2 * 20 + 5}" for i in range(8)], "label": [i % 2 for i in range(8)]})
    arguments = TrainingArguments(output_dir="out", batch_size=4, num_epochs=1, num_iterations=2, seed=3, report_to="none", use_amp=False, show_progress_bar=False,
                                  save_strategy="no", body_learning_rate=1e-3)  # fmt: skip
    trainer = Trainer(model=head_model, args=arguments, train_dataset=rows)
    trainer.train()
    return head_model.predict_proba(["w3 w4 w5", "w2 w9 w25"]), body.encode(["w3 w4 w5"])
