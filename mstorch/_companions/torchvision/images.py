"""Images' files in ``torch.ops.image``, by Pillow: PNG, JPEG, GIF and WEBP to tensors (channels, height, width), PNG and JPEG from them.

Importing this registers the operators; without Pillow it raises ImportError, and torchvision goes on without them.
"""
from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import PIL.Image

import mstorch as torch

from ..._library import registry
from ..._src.core.schemas import parse
from . import png16

Tensor = torch.Tensor
Array = np.ndarray[Any, Any]
_SPACE = "image"
_UNCHANGED, _GRAY, _GRAY_ALPHA, _RGB, _RGB_ALPHA = range(5)
_MODES = {_GRAY: "L", _GRAY_ALPHA: "LA", _RGB: "RGB", _RGB_ALPHA: "RGBA"}
_SIGNATURES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF87a": "gif", b"GIF89a": "gif"}


def _bytes(data: Tensor) -> bytes:
    """Return a file's bytes. Raise RuntimeError for another tensor than some contiguous ones of the CPU."""
    for fits, what in (
        (data.device.type == "cpu", "be on CPU"), (data.is_contiguous(), "be contiguous"),
        (data.dtype is torch.uint8, "have uint8 data type"), (data.dim() == 1 and data.numel() > 0, "be 1-dimensional and non-empty"),
    ):  # fmt: skip
        if not fits:
            raise RuntimeError(f"Input tensor must {what}, got {data.dtype} of {list(data.shape)} on {data.device}")
    return data.detach().numpy().tobytes()


_NOT_ONE = {
    "png": "Content is not png.", "jpeg": "Not a JPEG file", "webp": "WebPGetFeatures failed.",
    "gif": "DGifOpenFileName() failed - 103: not a GIF file",
}  # fmt: skip
_ENDS = {"png": "Out of bound read in decode_png. Probably, the input image is corrupted", "jpeg": "Image is incomplete or truncated"}


def _opened(data: Tensor, kind: str) -> Any:
    """Return Pillow's image of a file's bytes, which must be of the kind."""
    content = _bytes(data)
    if kind == "png" and len(content) < 8:
        raise RuntimeError("Content is too small for png!")
    try:
        image: Any = PIL.Image.open(io.BytesIO(content), formats=[kind.upper()])
    except (OSError, SyntaxError, ValueError) as error:
        begins = any(content.startswith(signature) for signature, own in _SIGNATURES.items() if own == kind)
        raise RuntimeError(f"{_ENDS[kind] if begins and kind in _ENDS else _NOT_ONE[kind]}: {error}") from error
    image.content = content  # Pillow lets go of the file where it fails
    return image


def _pixels(image: Any) -> Array:
    try:
        return np.array(image)
    except (OSError, SyntaxError, ValueError) as error:
        raise RuntimeError(f"{_end(image)}: {error}") from error


def _end(image: Any) -> str:
    """Return what libjpeg says of a file whose pixels cannot be read: there is a reserved marker among them, or they end too early."""
    if image.format == "JPEG" and re.search(rb"\xff[\x02-\xbf]", image.content.partition(b"\xff\xda")[2]):
        return "Unsupported marker type"
    return _ENDS["jpeg"]


def _turned(pixels: Array, orientation: int) -> Array:
    """Return pixels as EXIF's orientation says that they are to be shown."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def _planes(pixels: Array, image: Any, turn: bool) -> Tensor:
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    if turn:
        pixels = _turned(pixels, int(image.getexif().get(0x0112, 1)))
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)


def _mode(mode: int) -> str | None:
    if mode not in (_UNCHANGED, *_MODES):
        raise RuntimeError(f"Invalid mode {mode}")
    return _MODES.get(mode)


def decode_png(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return a PNG's pixels, uint16 for 16 bits."""
    image = _opened(data, "png")
    wanted = _mode(mode)
    content = _bytes(data)
    if png16.channels(content):
        return _planes(png16.shown(png16.pixels(content), wanted), image, apply_exif_orientation)
    if image.mode == "1" and wanted is None:
        wanted = "L"  # numbers of a palette's colours stay as they are
    image.load()
    shown = image if wanted in (None, image.mode) else _converted(image, str(wanted))
    return _planes(_pixels(shown), image, apply_exif_orientation)


def _converted(image: Any, wanted: str) -> Any:
    # Pillow has no way from colours to gray with alpha but by both
    if image.mode in ("RGB", "RGBA", "P") and wanted == "LA":
        return PIL.Image.merge("LA", (image.convert("RGB").convert("L"), image.convert("RGBA").getchannel("A")))
    return image.convert("RGB").convert("L") if wanted == "L" and image.mode == "RGBA" else image.convert(wanted)


def decode_jpeg(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return a JPEG's pixels, unchanged, gray or RGB."""
    image = _opened(data, "jpeg")
    wanted = _mode(mode)
    if wanted in ("LA", "RGBA"):
        raise RuntimeError("The provided mode is not supported for JPEG files")
    if wanted == "L":
        image.draft("L", image.size)  # the luma that the file contains, as libjpeg gives it
    pixels = _pixels(image)
    if image.mode == "CMYK" and wanted is None and "adobe" in image.info:
        # The numbers that the file has, which are inverted in Adobe's way: Pillow turns them back
        return _planes(255 - pixels, image, apply_exif_orientation)
    shown = image if wanted in (None, image.mode) else image.convert(wanted)
    return _planes(_pixels(shown), image, apply_exif_orientation)


def decode_webp(data: Tensor, mode: int) -> Tensor:
    """Return a WEBP's pixels, RGB or RGBA."""
    image = _opened(data, "webp")
    wanted = _mode(mode)
    if wanted in ("L", "LA"):  # torchvision says so, and decodes unchanged
        wanted = None
    return _planes(_pixels(image if wanted in (None, image.mode) else image.convert(wanted)), image, False)


def decode_gif(data: Tensor) -> Tensor:
    """Return a GIF's frames (frames, 3, height, width), or its only one without the first dimension."""
    image = _opened(data, "gif")
    frames = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        frames.append(_pixels(image.convert("RGB")))
    found = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2)
    return found if len(frames) > 1 else found[0]


def decode_image(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return the pixels of a file of a kind that its first bytes tell."""
    head = _bytes(data[:12] if data.dim() == 1 else data)
    kind = next((kind for signature, kind in _SIGNATURES.items() if head.startswith(signature)), None)
    if kind is None and head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        kind = "webp"
    if kind == "jpeg":
        return decode_jpeg(data, mode, apply_exif_orientation)
    if kind == "png":
        return decode_png(data, mode, apply_exif_orientation)
    if kind == "gif":
        return decode_gif(data)
    if kind == "webp":
        return decode_webp(data, mode)
    raise RuntimeError(
        "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic format, please rely on "
        "`decode_avif` and `decode_heic` directly."
    )


def _encodable(data: Tensor) -> Any:
    if data.device.type != "cpu":
        raise RuntimeError("Input tensor should be on CPU")
    if data.dtype is not torch.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if data.dim() != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor")
    if data.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {data.shape[0]}")
    pixels = data.detach().permute(1, 2, 0).contiguous().numpy()
    return PIL.Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def _encoded(image: Any, kind: str, **options: Any) -> Tensor:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return torch.from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def encode_png(data: Tensor, compression_level: int) -> Tensor:
    """Return the bytes of a PNG of (channels, height, width) pixels."""
    image = _encodable(data)
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(image, "PNG", compress_level=compression_level)


def encode_jpeg(data: Tensor, quality: int) -> Tensor:
    """Return the bytes of a JPEG of (channels, height, width) pixels."""
    return _encoded(_encodable(data), "JPEG", quality=quality)


def read_file(filename: str) -> Tensor:
    """Return a file's bytes."""
    try:
        content = np.fromfile(filename, np.uint8)
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {error.strerror}: '{filename}'") from error
    if not len(content):
        raise RuntimeError("Expected a non empty file")
    return torch.from_numpy(content)


def write_file(filename: str, data: Tensor) -> Tensor:
    """Write bytes to a file; return an empty tensor."""
    content = _bytes(data)
    with open(filename, "wb") as file:
        file.write(content)
    return torch.empty(0, dtype=torch.uint8)


def _on_gpus(name: str, instead: str) -> Callable[..., NoReturn]:
    def absent(*given: Any) -> NoReturn:
        raise NotImplementedError(f"mstorch: torch.ops.image.{name} decodes on CUDA devices; {instead}")

    return absent


OPERATORS: dict[str, Callable[..., Any]] = {
    "decode_webp(Tensor encoded_data, int mode) -> Tensor": decode_webp,
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_png,
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_jpeg,
    "decode_gif(Tensor data) -> Tensor": decode_gif,
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_image,
    "encode_png(Tensor data, int compression_level) -> Tensor": encode_png,
    "encode_jpeg(Tensor data, int quality) -> Tensor": encode_jpeg,
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> Tensor": write_file,
    "_jpeg_version() -> int": lambda: 62,
    "_is_compiled_against_turbo() -> bool": lambda: True,
    "encode_jpegs_cuda(Tensor[] decoded_images, int quality) -> Tensor[]": _on_gpus("encode_jpegs_cuda", "call encode_jpeg for each"),
    "decode_jpegs_cuda(Tensor[] encoded_images, int mode, Device device) -> Tensor[]": _on_gpus(
        "decode_jpegs_cuda", "call decode_jpeg for each, and move the results"
    ),
}


def register() -> None:
    """Define the operators."""
    for text, function in OPERATORS.items():
        schema = parse(_SPACE, text)
        key = (_SPACE, schema.name, "")
        if key not in registry.operators:
            registry.add(schema)
        registry.add_kernel(key, "CompositeExplicitAutograd", function)


register()
