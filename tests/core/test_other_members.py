"""Members and functions that torch's own tests use: packed matrices, copies between sparse tensors, attributes of a tensor."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.against_torch import both


def _weight(torch: Any) -> Any:
    return torch.linspace(-3, 5, 35).reshape(5, 7)


def test_a_weight_as_bytes() -> None:
    def body(torch: Any) -> Any:
        warnings.simplefilter("ignore")
        return torch.fbgemm_linear_quantize_weight(_weight(torch))

    both(body)


def test_a_half_precision_weight() -> None:
    def body(torch: Any) -> Any:
        warnings.simplefilter("ignore")
        packed = torch.fbgemm_pack_gemm_matrix_fp16(_weight(torch))
        return packed.dtype, torch.fbgemm_linear_fp16_weight(torch.ones(2, 3, 7), packed, torch.arange(5.0))

    both(body)


@pytest.mark.parametrize("shape", [(1, 5), (4, 4), (5,), (2, 5, 5), (6, 5)])
def test_a_sparse_copy_of_another_size(shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        target = torch.eye(5).to_sparse()
        target.copy_(torch.ones(shape).to_sparse())
        return target.to_dense()

    both(body)


def test_every_name_of_dir_is_an_attribute() -> None:
    def body(torch: Any) -> Any:
        tensor = torch.ones(2)
        return [name for name in dir(tensor) if name != "imag" and not hasattr(tensor, name)]

    both(body)


def test_hooks_that_are_set() -> None:
    def body(torch: Any) -> Any:
        tensor = torch.ones(2, requires_grad=True)
        tensor._backward_hooks = hooks = {1: lambda gradient: gradient * 2}
        tensor.sum().backward()
        return tensor.grad, list(tensor._backward_hooks) == list(hooks) or len(tensor._backward_hooks)

    both(body)


def test_full_of_complex_numbers_with_half_precision() -> None:
    def body(torch: Any) -> Any:
        before = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float16)
            return torch.full((2,), 1 + 1j).dtype == torch.complex64
        finally:
            torch.set_default_dtype(before)

    both(body)
