"""torch.utils.data.datapipes.utils.decoder: decoders of files, selected by extension.

Handlers of images, video, audio and MATLAB files need Pillow, torchvision, torchaudio and SciPy, and raise ModuleNotFoundError without
them.
"""

from __future__ import annotations

import importlib
import io
import json
import os.path
import pickle
import tempfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ....._src.ops.memory.from_data import tensor
from .....serialization import load
from .common import StreamWrapper

__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "audiohandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
    "videohandler",
]


def basichandlers(extension: str, data: Any) -> Any:
    """Decode text, class numbers, JSON, pickles and torch files; return None for other extensions."""
    # Substrings match as well, as in torch: "tx" is text.
    if extension in "txt text transcript":
        return data.decode("utf-8")
    if extension in ("cls", "cls2", "class", "count", "index", "inx", "id"):
        try:
            return int(data)
        except ValueError:
            return None
    if extension in "json jsn":
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    if extension == "pt":
        return load(io.BytesIO(data))
    return None


# For each image type: the library, the dtype, the channels.
imagespecs: dict[str, tuple[str, str | None, str]] = {
    "l8": ("numpy", "uint8", "l"),
    "rgb8": ("numpy", "uint8", "rgb"),
    "rgba8": ("numpy", "uint8", "rgba"),
    "l": ("numpy", "float", "l"),
    "rgb": ("numpy", "float", "rgb"),
    "rgba": ("numpy", "float", "rgba"),
    "torchl8": ("torch", "uint8", "l"),
    "torchrgb8": ("torch", "uint8", "rgb"),
    "torchrgba8": ("torch", "uint8", "rgba"),
    "torchl": ("torch", "float", "l"),
    "torchrgb": ("torch", "float", "rgb"),
    "torch": ("torch", "float", "rgb"),
    "torchrgba": ("torch", "float", "rgba"),
    "pill": ("pil", None, "l"),
    "pil": ("pil", None, "rgb"),
    "pilrgb": ("pil", None, "rgb"),
    "pilrgba": ("pil", None, "rgba"),
}


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Return a handler that calls ``f(data)`` for keys that end in one of the extensions (ignoring case), and else returns None.

    An extension may contain dots. One that is longer than the key is skipped.
    """
    wanted = [extension.split(".") for extension in extensions.lower().split()]

    def handle(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        first = next((words for words in wanted if len(words) <= len(parts)), None)
        return f(data) if first is not None and parts[-len(first) :] == first else None

    return handle


def _needed(module: str, package: str, purpose: str, install: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"Package `{package}` is required to be installed for {purpose}."
            f"Please use `pip install {install}` to install the package"
        ) from error


class ImageHandler:
    """Decodes images by ``imagespec``: for NumPy, torch or PIL, as uint8 or in [0, 1], grey, RGB or RGBA."""

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: Any) -> Any:
        """Return the decoded image; None for other extensions."""
        if extension.lower() not in ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"):
            return None
        pillow = _needed("PIL.Image", "PIL", "default image decoder", "Pillow")
        library, element, mode = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            image = pillow.open(stream)
            image.load()
            image = image.convert(mode.upper())
        if library == "pil":
            return image
        array = np.asarray(image)
        if array.dtype != np.uint8:
            raise AssertionError(f"numpy image array should be type uint8, but got {array.dtype}")
        if library == "numpy":
            return array if element == "uint8" else array.astype("f") / 255.0
        # Channels first. A grey image has no third dimension, and raises in NumPy, as in torch.
        result = tensor(np.array(array.transpose(2, 0, 1)))
        return result if element == "uint8" else result / 255.0


def imagehandler(imagespec: str) -> ImageHandler:
    """Return an ImageHandler."""
    return ImageHandler(imagespec)


def _through_a_file(extension: str, data: bytes, read: Callable[[str], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as stream:
            stream.write(data)
        return read(name)


def videohandler(extension: str, data: Any) -> Any:
    """Decode a video by torchvision; return None for other extensions."""
    if extension not in ("mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv"):
        return None
    library = _needed("torchvision.io", "torchvision", "default video file loader", "torchvision")
    return _through_a_file(extension, data, library.read_video)


def audiohandler(extension: str, data: Any) -> Any:
    """Decode audio by torchaudio; return None for other extensions."""
    if extension not in ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"):
        return None
    library = _needed("torchaudio", "torchaudio", "default audio file loader", "torchaudio")
    return _through_a_file(extension, data, library.load)


class MatHandler:
    """Decodes MATLAB files by SciPy; the arguments are those of ``scipy.io.loadmat``."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.sio = _needed("scipy.io", "scipy", "mat file", "scipy")
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: Any) -> Any:
        """Return a dict of the variables; None for other extensions."""
        if extension != "mat":
            return None
        with io.BytesIO(data) as stream:
            return self.sio.loadmat(stream, **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """Return a MatHandler."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """Return a file name's extension, without the dot."""
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """Passes data to the handlers, one after another, with the key that ``key_fn`` derives from the path, until one returns a result."""

    def __init__(self, *handler: Callable[..., Any], key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Add handlers before the existing ones."""
        self.handlers = [*handler, *self.handlers]

    @staticmethod
    def _is_stream_handle(data: object) -> bool:
        stream = data.file_obj if isinstance(data, StreamWrapper) else data
        return isinstance(stream, io.BufferedIOBase | io.RawIOBase)

    def decode1(self, key: str, data: Any) -> Any:
        """Return the result of the first handler that accepts the key, or the data unchanged."""
        if not data:
            return data
        if self._is_stream_handle(data):
            # All streams support iteration, but not all of them `read`.
            stream, data = data, b"".join(data)
            stream.close()
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data: Any) -> dict[str, Any]:
        """Return a dict from path to decoded data, given (path, data) pairs as a tuple."""
        result: dict[str, Any] = {}
        for path, value in [data] if isinstance(data, tuple) else data or ():
            if path[0] == "_" and isinstance(value, bytes):
                result[path] = value.decode("utf-8")
            else:
                result[path] = self.decode1(self.key_fn(path), value)
        return result

    def __call__(self, data: Any) -> dict[str, Any]:
        """Decode ``data``; same as ``decode``."""
        return self.decode(data)
