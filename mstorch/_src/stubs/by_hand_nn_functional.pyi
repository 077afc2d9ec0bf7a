"""Functions of torch.nn.functional whose types cannot be derived from a schema."""

from typing import overload

from .names import Bool, Int, Literal, Sequence, Tensor

def adaptive_avg_pool2d(input: Tensor, output_size: Int | None | Sequence[Int | None]) -> Tensor: ...
def adaptive_avg_pool3d(input: Tensor, output_size: Int | None | Sequence[Int | None]) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Bool = False
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Bool = False
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Int | None | Sequence[Int | None], return_indices: Bool = False
) -> tuple[Tensor, Tensor]: ...
