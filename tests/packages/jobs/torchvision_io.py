"""Jobs of torchvision's files of images."""
from __future__ import annotations

import io
import warnings

import numpy as np
import PIL.Image
import torch
from torchvision import io as files

warnings.simplefilter("ignore")


def _image(channels: int = 3) -> torch.Tensor:
    rows, columns = torch.arange(20).view(1, -1, 1), torch.arange(28).view(1, 1, -1)
    return ((rows * 5 + columns * 7 + torch.arange(channels).view(-1, 1, 1) * 60) % 256).to(torch.uint8)


def _bytes(image: PIL.Image.Image, kind: str, **options: object) -> torch.Tensor:
    place = io.BytesIO()
    image.save(place, kind, **options)
    return torch.from_numpy(np.frombuffer(place.getvalue(), np.uint8).copy())


def _pillow(mode: str) -> PIL.Image.Image:
    return PIL.Image.fromarray(_image().permute(1, 2, 0).numpy()).convert(mode)


def job_png() -> object:
    found = [files.decode_png(files.encode_png(_image(channels), 4)) for channels in (1, 3)]
    for mode in ("L", "LA", "RGB", "RGBA", "P", "1"):
        found += [files.decode_png(_bytes(_pillow(mode), "PNG"), way) for way in (files.ImageReadMode.UNCHANGED, files.ImageReadMode.RGB)]
    deep = PIL.Image.fromarray((_image(1)[0].numpy().astype(np.uint16)) * 200)
    return [*found, files.decode_png(_bytes(deep, "PNG")).int()]


def job_jpeg() -> object:
    """Means, because versions of libjpeg round differently."""
    data = [files.encode_jpeg(_image(channels), 90) for channels in (1, 3)] + [_bytes(_pillow("RGB"), "JPEG", quality=80)]
    found = [files.decode_jpeg(item, mode) for item in data for mode in (files.ImageReadMode.UNCHANGED, files.ImageReadMode.GRAY, files.ImageReadMode.RGB)]
    return [[list(item.shape), str(item.dtype), round(float(item.float().mean()) / 2)] for item in found]


def job_others() -> object:
    frames = [_pillow("P"), _pillow("P").rotate(180)]
    gif = _bytes(frames[0], "GIF", save_all=True, append_images=frames[1:])
    webp = _bytes(_pillow("RGBA"), "WEBP", lossless=True)
    return [files.decode_gif(gif), files.decode_image(gif), files.decode_webp(webp), files.decode_image(webp, files.ImageReadMode.RGB),
            files.decode_gif(_bytes(_pillow("P"), "GIF")), files.decode_image(files.encode_png(_image()))]  # fmt: skip


def job_files() -> object:
    files.write_png(_image(), "a.png")
    files.write_jpeg(_image(), "a.jpg", 75)
    turned = PIL.Image.Exif()
    turned[0x0112] = 6
    _pillow("RGB").save("b.png", exif=turned)
    found = [files.read_image("a.png"), files.decode_image(files.read_file("b.png"), apply_exif_orientation=True)]
    errors = []
    for call in (lambda: files.encode_png(_image().float()), lambda: files.encode_png(_image()[0]), lambda: files.encode_jpeg(_image(2)),
                 lambda: files.decode_png(torch.zeros(9, dtype=torch.uint8)), lambda: files.read_file("nothing.png"), lambda: files.encode_png(_image(), 12)):  # fmt: skip
        try:
            call()
            errors.append("none")
        except (RuntimeError, OSError, TypeError, ValueError) as error:
            errors.append(type(error).__name__)
    return [*found, list(files.read_image("a.jpg").shape), errors]
