"""A Llama of transformers with flash_attention_2 and a UNet of diffusers with xformers' attention, beside scaled_dot_product_attention.

Both packages refuse a CPU by themselves, so that the networks run on the stand-in device, under the name of a GPU.
"""
from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "transformers": """
from tests.cann.attention_networks import _ROWS, _llama, _steps_of_llama
for dtype, most in ((torch.float32, 1e-5), (torch.bfloat16, 0.03), (torch.float16, 4e-3)):
    own, fused = (_steps_of_llama(_llama(way, dtype, "cuda"), "cuda") for way in ("sdpa", "flash_attention_2"))
    check(own, fused, most)
words, told = torch.tensor(_ROWS, device="cuda"), []
for way in ("sdpa", "flash_attention_2"):
    model = _llama(way, torch.float32, "cuda")
    told.append(model.generate(input_ids=words, attention_mask=(words != 0).long(), max_new_tokens=6, do_sample=False).tolist())
wrong += [] if told[0] == told[1] else ["other words"]
""",
    "diffusers": """
from tests.cann.attention_networks import _steps_of_unet, _unet
for dtype, most in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
    model = _unet(dtype, "cuda")
    own = _steps_of_unet(model, dtype, "cuda")
    model = _unet(dtype, "cuda")
    model.enable_xformers_memory_efficient_attention()
    wrong += [] if {type(one).__name__ for one in model.attn_processors.values()} == {"XFormersAttnProcessor"} else ["other attention"]
    check(own, _steps_of_unet(model, dtype, "cuda"), most)
""",
}
START = """
import json, os, warnings
warnings.simplefilter("ignore")
import torch
wrong = []
def apart(one, other):
    return float((one.double() - other.double()).norm() / (1e-9 + one.double().norm()))
def check(own, other, most):
    far = max(apart(own[0].detach().cpu(), other[0].detach().cpu()), *(apart(own[1][name].cpu(), other[1][name].cpu()) for name in own[1]))
    if not far <= most:
        wrong.append(f"{own[0].dtype}: {far}")
"""


@pytest.mark.parametrize("package", PROGRAMS)
def test_networks_that_call_compiled_attention(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    file = tmp_path / "program.py"
    file.write_text(START + PROGRAMS[package] + "print('TOLD', json.dumps(wrong))\n")
    environment = {
        **os.environ, "MSTORCH_FAKE_DEVICE": "Ascend", "HF_HUB_OFFLINE": "1", "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    run = subprocess.run([sys.executable, "-m", "mstorch", "--cuda-is-npu", str(file)], env=environment, text=True, capture_output=True)
    told = [line for line in run.stdout.splitlines() if line.startswith("TOLD ")]
    assert told and json.loads(told[0][5:]) == [], run.stdout[-2000:] + run.stderr[-2000:]
