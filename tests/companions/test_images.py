"""torchvision's decoders: PNG of 16 bits with each filter, CMYK as the file has it, and what broken files say."""
from __future__ import annotations

import importlib
import io
import struct
import zlib

import numpy as np
import pytest

import mstorch as torch

PIL = pytest.importorskip("PIL.Image")
image = importlib.import_module("mstorch._companions.torchvision.images")
UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA = range(5)


def _predicted(kind: int, left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    if kind == 4:
        guess = left + up - corner
        apart = [np.abs(guess - part) for part in (left, up, corner)]
        return np.where((apart[0] <= apart[1]) & (apart[0] <= apart[2]), left, np.where(apart[1] <= apart[2], up, corner))
    return (0 * left, left, up, (left + up) // 2)[kind]


def _file(pixels: np.ndarray, kinds: list[int], interlaced: int = 0) -> torch.Tensor:
    """Return a PNG of (height, width, channels) in uint16, whose rows are filtered by turns."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2").view(np.uint8).reshape(height, -1).astype(np.int64)
    step, above, lines = 2 * channels, np.zeros(rows.shape[1], np.int64), b""
    for number, row in enumerate(rows):
        kind = kinds[number % len(kinds)]
        left, corner = (np.concatenate((np.zeros(step, np.int64), line[:-step])) for line in (row, above))
        lines += bytes([kind]) + ((row - _predicted(kind, left, above, corner)) % 256).astype(np.uint8).tobytes()
        above = row
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, interlaced)
    content = b"\x89PNG\r\n\x1a\n"
    for kind_of, data in ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")):
        content += struct.pack(">I", len(data)) + kind_of + data + struct.pack(">I", zlib.crc32(kind_of + data))
    return torch.tensor(list(content), dtype=torch.uint8)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kinds", [[0], [1], [2], [3], [4], [0, 4, 3, 1, 2]], ids=str)
def test_sixteen_bits(channels, kinds) -> None:
    pixels = np.random.default_rng(channels).integers(0, 65536, (7, 5, channels)).astype(np.uint16)
    data = _file(pixels, kinds)
    got = image.decode_png(data, UNCHANGED)
    assert got.dtype is torch.uint16 and np.array_equal(got.permute(1, 2, 0).numpy(), pixels)
    colours, alpha = (pixels[..., :-1], pixels[..., -1]) if channels in (2, 4) else (pixels, np.full((7, 5), 65535))
    assert np.array_equal(image.decode_image(data, RGB_ALPHA).numpy()[3], alpha)
    gray = image.decode_png(data, GRAY).numpy()
    assert gray.shape == (1, 7, 5) and image.decode_png(data, GRAY_ALPHA).shape == (2, 7, 5)
    if colours.shape[2] == 1:
        assert np.array_equal(gray[0], colours[..., 0]) and np.array_equal(image.decode_png(data, RGB).numpy()[2], colours[..., 0])
    else:
        weights = np.array([0.2989, 0.587, 1 - 0.2989 - 0.587])
        assert np.abs(gray[0] - colours.astype(float) @ weights).max() < 4


def test_broken_files_say_so() -> None:
    whole = _file(np.zeros((5, 4, 3), np.uint16), [0])
    noise = torch.tensor(np.random.default_rng(0).integers(1, 250, 100).astype(np.uint8))
    for function, text in ((image.decode_png, "Content is not png"), (image.decode_jpeg, "Not a JPEG file"), (image.decode_webp, "WebPGetFeatures failed.")):
        for wrong, own in ((noise, text), (noise[None], "1-dimensional"), (noise.float(), "uint8 data type"), (noise[::2], "contiguous")):
            with pytest.raises(RuntimeError, match=own):
                function(wrong, UNCHANGED)
    with pytest.raises(RuntimeError, match="too small for png"):
        image.decode_png(noise[:3], UNCHANGED)
    with pytest.raises(RuntimeError, match=r"DGifOpenFileName\(\) failed - 103"):
        image.decode_gif(noise)
    with pytest.raises(RuntimeError, match="Out of bound read in decode_png"):
        image.decode_png(torch.cat((whole[:45], whole[-20:])), UNCHANGED)
    with pytest.raises(NotImplementedError, match="interlaced"):
        image.decode_png(_file(np.zeros((5, 4, 3), np.uint16), [0], 1), UNCHANGED)
    file = io.BytesIO()
    PIL.fromarray(np.random.default_rng(1).integers(0, 255, (40, 40, 3)).astype(np.uint8)).save(file, "JPEG")
    cut = torch.tensor(list(file.getvalue()[:900]), dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="Image is incomplete or truncated"):
        image.decode_jpeg(cut, UNCHANGED)


def test_inks_of_a_file() -> None:
    """libjpeg gives the numbers of a CMYK file, which Adobe's programs, and Pillow, write inverted."""
    inks, file = np.full((16, 16, 4), 40, np.uint8), io.BytesIO()
    PIL.fromarray(inks, "CMYK").save(file, "JPEG", quality=100)
    got = image.decode_jpeg(torch.tensor(list(file.getvalue()), dtype=torch.uint8), UNCHANGED)
    assert got.shape == (4, 16, 16) and (got.int() - 215).abs().max() <= 2
