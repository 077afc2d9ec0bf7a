"""Storage locations: the tags in a file, and the devices that they denote."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from mstorch._src.core.above import above
from mstorch._src.serialization import adapter
from mstorch._src.serialization.loaded import LoadedStorage

from ..core.device import device

Tagger = Callable[[Any], "str | None"]
Deserializer = Callable[[Any, str], Any]
_registry: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register how storages of a device are tagged and restored; a lower ``priority`` is tried first."""
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """Return the tag of a storage's device. Raise RuntimeError if no registered function returns one."""
    for _, tagger, _ in _registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__module__}."
                       f"{type(storage).__qualname__}")  # fmt: skip


def default_restore_location(storage: LoadedStorage, location: str) -> LoadedStorage:
    """Return ``storage`` on the device tagged ``location``. Raise RuntimeError for an unknown or unavailable one."""
    for _, _, deserializer in _registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
    )


restored = default_restore_location


def restorer(map_location: Any) -> Deserializer:
    """Return the function of (storage, location) for a ``map_location`` argument of load."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        wanted = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, wanted)
    if not callable(map_location):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable")

    def asked(storage: LoadedStorage, location: str) -> LoadedStorage:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return asked


def _tag(kind: str, storage: Any) -> str | None:
    device = storage.device
    if device.type != kind:
        return None
    return kind if device.index is None or kind in ("cpu", "meta") else f"{kind}:{device.index}"


def _restore_cpu(storage: LoadedStorage, location: str) -> LoadedStorage | None:
    return storage.to(device="cpu") if location == "cpu" else None


def _restore_meta(storage: LoadedStorage, location: str) -> Any:
    return LoadedStorage(storage.data, "meta") if location == "meta" else None


def _restore_accelerator(kind: str, storage: LoadedStorage, location: str) -> LoadedStorage | None:
    if location != kind and not re.match(f"{kind}(:|[0-9]+)", location):
        return None
    return storage.to(device=validate_device(location, kind))


def validate_device(location: str, kind: str) -> device:
    """Return the device of a tag such as 'cuda:1'. Raise RuntimeError if it is not available."""
    count = adapter.device_count(kind)
    if count == 0:
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
            "to map your storages to the CPU."
        )
    found = device(location)
    if (found.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {found.index} but "
            f"torch.{kind}.device_count() is {count}. Please use torch.load with map_location to map your storages "
            "to an existing device."
        )
    return found


register_package(10, functools.partial(_tag, "cpu"), _restore_cpu)
register_package(20, functools.partial(_tag, "cuda"), functools.partial(_restore_accelerator, "cuda"))
register_package(22, functools.partial(_tag, "meta"), _restore_meta)
register_package(23, functools.partial(_tag, "npu"), functools.partial(_restore_accelerator, "npu"))

above.restored = restored
