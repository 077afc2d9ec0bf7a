"""Jobs of lm-eval, with a tiny random model."""
from __future__ import annotations

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast


def job_likelihoods():
    made = Tokenizer(models.WordLevel({f"t{i}": i for i in range(64)}, unk_token="t3"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokens = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="t0", eos_token="t2", bos_token="t1")
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)).eval()
    asked = HFLM(pretrained=model, tokenizer=tokens, batch_size=2, device="cpu")

    def requests(kind, rows):
        return [Instance(request_type=kind, doc={}, arguments=row, idx=i) for i, row in enumerate(rows)]

    pairs = [("t5 t6 t7", " t8 t9"), ("t4", " t30"), ("t10 t11", " t12 t13 t14")]
    return (
        asked.loglikelihood(requests("loglikelihood", pairs), disable_tqdm=True),
        asked.loglikelihood_rolling(requests("loglikelihood_rolling", [("t5 t6 t7 t8",), ("t9 t10",)]), disable_tqdm=True),
        asked.generate_until(requests("generate_until", [("t5 t6", {"until": ["t2"], "max_gen_toks": 5}), ("t9", {"until": ["t2"], "max_gen_toks": 4})]),
                             disable_tqdm=True),
    )  # fmt: skip
