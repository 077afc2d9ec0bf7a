"""Private methods of storages that packages call return torch's results, and batches are stacked into shared memory."""
from __future__ import annotations

from typing import Any

import pytest

from tests.against_torch import both

pytestmark = [pytest.mark.on_the_cpu, pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")]  # memory that processes share


def test_new_storages_that_are_shared() -> None:
    def body(torch: Any) -> Any:
        e = torch.rand(3, 2)
        typed, untyped = e._typed_storage(), e.untyped_storage()
        made = [untyped._new_shared(48, device=e.device), torch.UntypedStorage._new_shared(8), typed._new_shared(12), e.storage()._new_shared(5)]
        told = [(type(one).__name__, one.nbytes(), one.is_shared(), getattr(one, "dtype", None)) for one in made]
        batch = [torch.stack([e, e * 2], 0, out=e.new(one).resize_(2, 3, 2)) for one in (made[2], untyped._new_shared(48))]
        return told, batch, [one.untyped_storage().is_shared() for one in batch]

    both(body)


def test_names_without_a_warning() -> None:
    def body(torch: Any) -> Any:
        e = torch.rand(3, 2)
        typed = e._typed_storage()
        told = [typed._size(), typed._nbytes(), typed._element_size(), typed._is_shared(), typed._pickle_storage_type(), typed._dtype]
        typed._setitem(0, 5.0)
        told += [typed._getitem(0), e[0, 0].item(), typed._data_ptr() == e.data_ptr(), typed._deepcopy({})._size()]
        told += [typed._maybe_wrap_index(place) for place in (-1, 2, None)] + [typed._maybe_wrap_index(6, is_stop=True)]
        wrapped = typed._new_wrapped_storage(e.untyped_storage())
        return told, wrapped.dtype, wrapped._size(), e.clone()._typed_storage()._share_memory_()._is_shared()

    both(body)


@pytest.mark.parametrize("call", [
    lambda typed: typed._getitem(slice(0, 2)), lambda typed: typed._maybe_wrap_index(9), lambda typed: typed._maybe_wrap_index(-7),
    lambda typed: typed._maybe_wrap_index(6), lambda typed: typed._maybe_wrap_index(7, is_stop=True), lambda typed: typed._maybe_wrap_index(1.5),
])
def test_what_is_refused(call: Any) -> None:
    both(lambda torch: call(torch.rand(3, 2)._typed_storage()))
