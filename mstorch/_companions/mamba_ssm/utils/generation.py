"""mamba_ssm.utils.generation: words one after the other, with the states of the layers kept."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import mstorch as torch

Tensor = torch.Tensor


@dataclass
class InferenceParams:
    """Position and batch of a generation, and the states of its layers."""

    max_seqlen: int
    max_batch_size: int
    seqlen_offset: int = 0
    batch_size_offset: int = 0
    key_value_memory_dict: dict[Any, Any] = field(default_factory=dict)
    lengths_per_sample: Tensor | None = None

    def reset(self, max_seqlen: int, max_batch_size: int) -> None:
        """Begin another generation."""
        self.max_seqlen, self.max_batch_size, self.seqlen_offset = max_seqlen, max_batch_size, 0
        if self.lengths_per_sample is not None:
            self.lengths_per_sample.zero_()


def sample(logits: Tensor, top_k: int = 1, top_p: float = 0.0, min_p: float = 0.0, temperature: float = 1.0) -> Tensor:
    """Return a word for each row of logits: the most probable one, or one drawn from those that the limits leave."""
    if top_k == 1:
        return logits.argmax(-1)
    if top_p > 0.0 and top_p > 1.0:
        raise AssertionError("top-p should be in (0, 1].")
    values, words = logits.sort(-1, descending=True)
    if top_k > 0:
        values, words = values[:, :top_k], words[:, :top_k]
    if min_p > 0.0:
        chances = values.softmax(-1)
        values = values.masked_fill(chances < chances[:, :1] * min_p, -torch.inf)
    if temperature != 1.0:
        values = values / temperature
    if 0.0 < top_p < 1.0:
        chances = values.softmax(-1)
        values = values.masked_fill(chances.cumsum(-1) - chances >= top_p, -torch.inf)
    return words.gather(-1, torch.multinomial(values.softmax(-1), 1)).squeeze(-1)


def _penalized(logits: Tensor, words: Tensor, penalty: float) -> Tensor:
    """Return logits in which words that came before are less probable."""
    scores = logits.gather(1, words)
    return logits.scatter(1, words, torch.where(scores < 0, scores * penalty, scores / penalty))


class GenerateOutput(NamedTuple):
    """The words of a generation, and their logits by step."""

    sequences: Tensor
    scores: tuple[Tensor, ...] | None


class GenerationMixin:
    """Adds ``generate`` to a model whose forward takes ``inference_params`` and ``num_last_tokens``."""

    def generate(
        self, input_ids: Tensor, max_length: int, top_k: int = 1, top_p: float = 0.0, min_p: float = 0.0, temperature: float = 1.0,
        return_dict_in_generate: bool = False, output_scores: bool = False, repetition_penalty: float = 1.0,
        eos_token_id: int | None = None, teacher_outputs: Tensor | None = None, vocab_size: int | None = None, cg: bool = False,
        enable_timing: bool = False, streamer: Any = None,
    ) -> Any:  # fmt: skip
        """Return the words (batch, up to max_length) that follow ``input_ids``, and with ``return_dict_in_generate`` their scores.

        ``cg`` asks for CUDA's graphs, which do not change results; steps run one by one here.
        """
        if enable_timing:
            raise NotImplementedError("mstorch: enable_timing reads CUDA's events; write time.perf_counter around generate")
        model: Any = self
        if streamer is not None:
            streamer.put(input_ids.cpu())
        batch, words, scores = input_ids.shape[0], input_ids, []
        params = InferenceParams(max_length, batch)
        with torch.inference_mode():
            latest = input_ids
            while words.shape[1] < max_length:
                logits = model(latest, inference_params=params, num_last_tokens=1).logits.squeeze(1)
                params.seqlen_offset += latest.shape[1]
                logits = logits[..., : logits.shape[-1] if vocab_size is None else vocab_size]
                scores.append(logits)
                if teacher_outputs is not None and teacher_outputs.shape[1] > words.shape[1]:
                    chosen = teacher_outputs[:, words.shape[1]]
                else:
                    changed = logits if repetition_penalty == 1.0 else _penalized(logits, words, repetition_penalty)
                    chosen = sample(changed, top_k, top_p, min_p, temperature)
                latest = chosen.unsqueeze(1)
                words = torch.cat((words, latest), 1)
                if streamer is not None:
                    streamer.put(latest.cpu())
                if eos_token_id is not None and bool((latest == eos_token_id).all()):
                    break
        if streamer is not None:
            streamer.end()
        if not return_dict_in_generate:
            return words
        return GenerateOutput(words, tuple(scores) if output_scores else None)


__all__ = ["GenerationMixin", "InferenceParams", "sample"]
