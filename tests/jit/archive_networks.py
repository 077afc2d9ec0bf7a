"""Networks whose programs real torch writes to files: those of tests/export and tests/onnx, and detection, video, flow, sound and audio ones.

Everything here runs with real torch as ``torch``.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable

from tests.export.networks import _SMALL, Call, Made, _hugging, _images, _padded, _timm
from tests.jit.archive_detectors import DETECTORS, WHOLE_DETECTORS
from tests.onnx.models import GROUPS as OF_ONNX


def _video() -> Made:
    import torch
    from torchvision.models.video import resnet

    net = resnet.VideoResNet(resnet.BasicBlock, [resnet.Conv3DSimple] * 4, [1, 1, 1, 1], resnet.BasicStem, num_classes=5)  # type: ignore[list-item]
    return net, lambda: ((torch.randn(1, 3, 4, 32, 32),), {})


def _flow() -> Made:
    import torch
    from torchvision.models.optical_flow import raft_small

    return raft_small(weights=None), lambda: ((torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)), {"num_flow_updates": 2})


def _convnext() -> Made:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)], num_classes=5), _images(64)


def _deeplab() -> Made:
    from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

    return deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4), _images(64)


def _maxvit() -> Made:
    from torchvision.models.maxvit import MaxVit

    net = MaxVit((64, 64), 8, 4, [8, 16], [1, 1], 8, 0.0, num_classes=5)
    return net, _images(64)


def _wave(length: int, batch: int = 2) -> Callable[[], Call]:
    def draw() -> Call:
        import torch

        return (torch.randn(batch, length),), {}

    return draw


def _own(name: str) -> Callable[[], Made]:
    def make() -> Made:
        return getattr(importlib.import_module("tests.jit.archive_modules"), name)()

    return make


_CONV = {"conv_dim": (8, 8), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8,
         "num_conv_pos_embedding_groups": 2, "vocab_size": 20}  # fmt: skip
_TOWER = {key: value for key, value in _SMALL.items() if key != "vocab_size"}
MORE: dict[str, dict[str, Callable[[], Made]]] = {
    "torchvision": {
        "VideoResNet": _video, "RAFT": _flow, "ConvNeXt of torchvision": _convnext, "MaxViT": _maxvit,
        "DeepLab": _deeplab,
    },
    "detection": DETECTORS, "whole detectors": WHOLE_DETECTORS,
    "sound": {name: _own(name) for name in ("voice_activity", "separator", "deep_speech", "wavenet", "tacotron_decoder", "conformer", "spectrogram")},
    "timm": {
        "test_vit3": _timm("test_vit3", img_size=64), "test_vit4": _timm("test_vit4", img_size=64),
        **{name: _timm(name) for name in ("test_vit2", "test_efficientnet_evos", "test_convnext2", "test_convnext3", "test_nfnet", "test_resnet")},
    },
    "transformers": {
        "Wav2Vec2": _hugging("Wav2Vec2", "ForCTC", _wave(400), **_TOWER, **_CONV), "HuBERT": _hugging("Hubert", "ForCTC", _wave(400), **_TOWER, **_CONV),
        "RoBERTa": _hugging("Roberta", "ForMaskedLM", _padded, **_SMALL, max_position_embeddings=32),
        "ELECTRA": _hugging("Electra", "ForTokenClassification", _padded, **_SMALL, embedding_size=16),
        "ALBERT": _hugging("Albert", "ForSequenceClassification", _padded, **_SMALL, embedding_size=16),
        "Mistral": _hugging("Mistral", "ForCausalLM", _padded, **_SMALL, num_key_value_heads=1, use_cache=False),
        "Qwen2": _hugging("Qwen2", "ForCausalLM", _padded, **_SMALL, num_key_value_heads=1, use_cache=False),
        "Gemma": _hugging("Gemma", "ForCausalLM", _padded, **_SMALL, num_key_value_heads=1, head_dim=8, use_cache=False),
        "OPT": _hugging("OPT", "ForCausalLM", _padded, vocab_size=50, hidden_size=16, word_embed_proj_dim=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, use_cache=False),
        "DINOv2": _hugging("Dinov2", "Model", _images(28), **_TOWER, image_size=28, patch_size=14),
        "SegFormer": _hugging(
            "Segformer", "ForSemanticSegmentation", _images(64), num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16],
            patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=8,
        ),
    },
}  # fmt: skip
GROUPS = {group: {**OF_ONNX.get(group, {}), **MORE.get(group, {})} for group in (*OF_ONNX, *(group for group in MORE if group not in OF_ONNX))}
