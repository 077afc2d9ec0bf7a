"""Networks whose attention is that of compiled packages, on the emulated Ascend beside double precision on the CPU: kernels and reads counted:

    python -m tests.cann python -m mstorch --cuda-is-npu -m tests.cann.attention_networks

A Llama of transformers with ``flash_attention_2`` on rows padded at the left (logits, gradients, words of ``generate``), and a UNet of diffusers
with ``enable_xformers_memory_efficient_attention()``. Both packages must be installed; they take "cuda" as the sign that flash_attn and xformers
can be used. Without ``--cuda-is-npu`` transformers calls npu_fusion_attention, and diffusers refuses xformers.
"""
from __future__ import annotations

import collections
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

_CALLS = os.environ.setdefault("EMULATED_CANN_CALLS", os.path.join(tempfile.mkdtemp(), "calls"))  # before MindSpore starts the device

import mstorch as torch  # noqa: E402
from tests.cann import reads  # noqa: E402
from tests.cann.companions import _kernels, _lines  # noqa: E402

_ROWS = [[0, 0, 0, 0, 5, 9, 2, 7, 1], [3, 8, 4, 1, 6, 2, 9, 5, 7]]  # 0 is padding
_MORE = 2e-3
"""How much farther than three times the CPU's error in the same dtype a result may lie from double precision."""


def _apart(one: Any, other: Any) -> float:
    one, other = one.detach().cpu().double(), other.detach().cpu().double()
    return float((one - other).norm() / (1e-9 + other.norm()))


def _counted(call: Callable[[], Any]) -> tuple[Any, collections.Counter, dict[str, int]]:
    """Return what a call gives, its kernels, and its reads by the line that asked."""
    before = len(_lines())
    with reads.counted() as lines:
        result = call()
    return result, _kernels(_lines()[before:]), dict(lines)


def _told(kernels: collections.Counter) -> str:
    attention = [f"{name.removeprefix('aclnn')} {count}" for name, count in kernels.items() if "Attention" in name]
    return f"{sum(kernels.values())} kernels ({', '.join(attention) or 'attention composed'})"


def _llama(way: str, dtype: torch.dtype, place: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=32, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=64, pad_token_id=0, attn_implementation=way)  # fmt: skip
    return LlamaForCausalLM(config).to(dtype).to(place)


def _steps_of_llama(model: Any, place: Any) -> tuple[Any, dict[str, Any]]:
    words = torch.tensor(_ROWS).to(place)
    mask = (words != 0).long()
    result = model(input_ids=words, attention_mask=mask, labels=words.masked_fill(mask == 0, -100))
    result.loss.backward()
    return result.logits[mask.bool()], {name: item.grad for name, item in model.named_parameters()}


def of_llama(device: Any) -> list[str]:
    """Print the errors of a Llama with flash attention, in half precision; return what is wrong."""
    exact = _steps_of_llama(_llama("sdpa", torch.float64, "cpu"), "cpu")
    wrong = []
    for dtype in (torch.bfloat16, torch.float16):
        own = _steps_of_llama(_llama("sdpa", dtype, "cpu"), "cpu")
        model = _llama("flash_attention_2", dtype, device)
        found, kernels, lines = _counted(lambda model=model: _steps_of_llama(model, device))
        far = [_apart(found[0], exact[0]), max(_apart(found[1][name], exact[1][name]) for name in exact[1])]
        host = [_apart(own[0], exact[0]), max(_apart(own[1][name], exact[1][name]) for name in exact[1])]
        mask = torch.tensor(_ROWS).ne(0).long()
        told = [_llama(way, dtype, place).generate(input_ids=torch.tensor(_ROWS).to(place), attention_mask=mask.to(place), max_new_tokens=6, do_sample=False).tolist()
                for way, place in (("sdpa", "cpu"), ("flash_attention_2", device))]  # fmt: skip
        print(f"Llama, {dtype}: logits {far[0]:.1e} (the CPU's {host[0]:.1e}), gradients {far[1]:.1e} (the CPU's {host[1]:.1e}), "
              f"words {'the same' if told[0] == told[1] else told}; {_told(kernels)}, {sum(lines.values())} reads {lines}", flush=True)
        if any(one > 3 * other + _MORE for one, other in zip(far, host)) or told[0] != told[1]:
            wrong.append(f"Llama, {dtype}")
    return wrong


def _unet(dtype: torch.dtype, place: Any) -> Any:
    from diffusers import UNet2DConditionModel

    torch.manual_seed(0)
    return UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 32), cross_attention_dim=32, attention_head_dim=4,
        norm_num_groups=8, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ).to(dtype).to(place)  # fmt: skip


def _steps_of_unet(model: Any, dtype: torch.dtype, place: Any) -> tuple[Any, dict[str, Any]]:
    draw = torch.Generator().manual_seed(1)
    noise, text = (torch.randn(*shape, generator=draw).to(dtype).to(place) for shape in ((2, 4, 8, 8), (2, 5, 32)))
    found = model(noise, torch.tensor([3, 7]).to(place), text).sample
    found.square().mean().backward()
    return found, {name: item.grad for name, item in model.named_parameters()}


def of_unet(device: Any) -> list[str]:
    """Print the errors of a UNet with xformers' attention; return what is wrong."""
    exact, wrong = _steps_of_unet(_unet(torch.float64, "cpu"), torch.float64, "cpu"), []
    for dtype in (torch.float32, torch.float16):
        own = _steps_of_unet(_unet(dtype, "cpu"), dtype, "cpu")
        model = _unet(dtype, device)
        model.enable_xformers_memory_efficient_attention()
        found, kernels, lines = _counted(lambda model=model, dtype=dtype: _steps_of_unet(model, dtype, device))
        far, host = ([_apart(one[0], exact[0]), max(_apart(one[1][name], exact[1][name]) for name in exact[1])] for one in (found, own))
        print(f"UNet, {dtype}: result {far[0]:.1e} (the CPU's {host[0]:.1e}), gradients {far[1]:.1e} (the CPU's {host[1]:.1e}); {_told(kernels)}, "
              f"{sum(lines.values())} reads {lines}", flush=True)
        if any(one > 3 * other + _MORE for one, other in zip(far, host)):
            wrong.append(f"UNet, {dtype}")
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = torch.accelerator.current_accelerator()
    print(differing := of_llama(place) + of_unet(place))
    sys.exit(bool(differing))
