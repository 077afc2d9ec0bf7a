"""A datapipe that decodes files: ``routed_decode``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils._lengths import length_of
from ..utils.common import _deprecation_warning
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[tuple[str, Any]]):
    """Yields pairs of a path and its stream's contents, decoded by the first handler that accepts the key.

    ``key_fn`` derives the key from the path: its extension by default. Without handlers, text, JSON, pickles, torch's files and images are
    decoded. Deprecated in torch, and warns so.

    (functional name: ``routed_decode``)
    """

    def __init__(
        self,
        datapipe: Iterable[tuple[str, Any]],
        *handlers: Callable[..., Any],
        key_fn: Callable[..., Any] = extension_extract_fn,
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)
        _deprecation_warning(
            type(self).__name__,
            deprecation_version="1.12",
            removal_version="1.13",
            old_functional_name="routed_decode",
        )

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Add a handler before the existing ones."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for data in self.datapipe:
            path = data[0]
            yield path, self.decoder(data)[path]

    def __len__(self) -> int:
        return length_of(self.datapipe, self)
