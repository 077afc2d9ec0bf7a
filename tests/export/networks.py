"""Small networks of torchvision, timm and transformers, and those of examples/models: how each is made, and what it is called with.

A function here runs with torch or mstorch as ``torch``, whichever the process has.
"""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "models"

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of a network's call."""
Made = tuple[Any, Callable[[], Call]]
"""A network, and a function that draws the arguments of a call."""


def awake(network: Any) -> Any:
    """Fill parameters that a package initializes with zeros, so that a network's result is not zero."""
    import torch

    with torch.no_grad():
        for parameter in network.parameters():
            if not parameter.any():
                parameter.normal_(0, 0.1)
    return network


def _images(size: int, batch: int = 2) -> Callable[[], Call]:
    def draw() -> Call:
        import torch

        return (torch.randn(batch, 3, size, size),), {}

    return draw


def _vision(name: str, size: int, **options: Any) -> Callable[[], Made]:
    """Return a function that creates a network of torchvision by a function or class of this name, and its images."""
    return lambda: (getattr(importlib.import_module("torchvision.models"), name)(**options), _images(size))


def _resnet() -> Made:
    from torchvision.models.resnet import Bottleneck, ResNet

    return ResNet(Bottleneck, [1, 1, 1, 1], num_classes=5, groups=4, width_per_group=8), _images(64)


def _swin() -> Made:
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=5), _images(64)


def _fcn() -> Made:
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large

    return lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4), _images(64)


def _timm(name: str, size: int = 64, **options: Any) -> Callable[[], Made]:
    return lambda: (importlib.import_module("timm").create_model(name, pretrained=False, num_classes=7, **options), _images(size))


def _tokens(length: int = 9, batch: int = 2, vocabulary: int = 50) -> Any:
    import torch

    return torch.randint(3, vocabulary, (batch, length))


def _padded(length: int = 9) -> Call:
    """Return tokens and the mask of a batch whose second row is shorter."""
    import torch

    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, length - 3 :] = 0
    return (), {"input_ids": _tokens(length), "attention_mask": mask}


def _hugging(kind: str, head: str, draw: Callable[[], Call], **options: Any) -> Callable[[], Made]:
    """Return a network of transformers with a small configuration."""
    def make() -> Made:
        library = importlib.import_module("transformers")
        return getattr(library, f"{kind}{head}")(getattr(library, f"{kind}Config")(**options)), draw

    return make


_SMALL = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def _both_sides() -> Call:
    return (), {"input_ids": _tokens(), "decoder_input_ids": _tokens(5)}


def _sound() -> Call:
    import torch

    return (), {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": _tokens(5)}


def _pictures_and_words() -> Call:
    import torch

    return (), {"input_ids": _tokens(9), "pixel_values": torch.randn(2, 3, 16, 16)}


def _example(name: str, draw: Callable[[Any], Call]) -> Callable[[], Made]:
    def make() -> Made:
        if str(EXAMPLES) not in sys.path:
            sys.path.insert(0, str(EXAMPLES))
        module = importlib.import_module(name)
        return module.build()[0], lambda: draw(module)

    return make


def _token_and_state(module: Any) -> Call:
    (tokens,) = module.batch()
    return (tokens[:6], module.build()[0].start(tokens.shape[1])), {}


GROUPS: dict[str, dict[str, Callable[[], Made]]] = {
    "examples": {
        "resnet": _example("resnet", lambda module: (module.batch()[:1], {})), "unet": _example("unet", lambda module: (module.batch()[:1], {})),
        "gpt": _example("gpt", lambda module: (module.batch()[:1], {})), "transformer": _example("transformer", lambda module: (module.batch(), {})),
        "lstm_lm": _example("lstm_lm", _token_and_state),
    },
    "torchvision": {
        "ResNeXt": _resnet, "ShuffleNet": _vision("shufflenet_v2_x0_5", 64, num_classes=5), "SqueezeNet": _vision("squeezenet1_1", 64, num_classes=5),
        "MobileNet": _vision("mobilenet_v3_small", 64, num_classes=5), "Swin": _swin, "LR-ASPP": _fcn,
        "DenseNet": _vision("DenseNet", 64, growth_rate=4, block_config=(2, 2), num_init_features=8, num_classes=5),
        "ViT": _vision(
            "VisionTransformer", 32, image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=5,
        ),
    },
    "timm": {
        "ConvNeXt": _timm("test_convnext"), "EfficientNet": _timm("test_efficientnet"), "NFNet": _timm("test_nfnet"), "ViT of timm": _timm("test_vit", img_size=64),
        "MambaOut": _timm("test_mambaout"), "ResMLP": _timm("resmlp_12_224", 32, img_size=32),
    },
    "transformers": {
        "BERT": _hugging("Bert", "ForSequenceClassification", _padded, **_SMALL),
        "GPT-2": _hugging("GPT2", "LMHeadModel", _padded, vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32, use_cache=False),
        "Llama": _hugging("Llama", "ForCausalLM", _padded, **_SMALL, num_key_value_heads=1, use_cache=False),
        "T5": _hugging("T5", "ForConditionalGeneration", _both_sides, vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, use_cache=False),
        "Whisper": _hugging(
            "Whisper", "ForConditionalGeneration", _sound, vocab_size=50, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=20, max_target_positions=20,
            pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, use_cache=False,
        ),
        "CLIP": _hugging(
            "CLIP", "Model", _pictures_and_words, projection_dim=8, text_config={**_SMALL, "eos_token_id": 2, "max_position_embeddings": 16},
            vision_config={"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 16, "patch_size": 8},
        ),
    },
}  # fmt: skip
