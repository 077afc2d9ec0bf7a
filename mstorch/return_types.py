"""torch.return_types: named tuples of operations with several results."""
from __future__ import annotations

from typing import Any

from ._src.core.tensor_base import TensorBase


def _named(name: str, *fields: str) -> type:
    """Return a named tuple type whose repr is torch's."""

    def make(cls: type, values: tuple[TensorBase, TensorBase]) -> Any:
        items = tuple(values)
        if len(items) != len(fields):
            raise TypeError(
                f"torch.return_types.{name}() takes a {len(fields)}-sequence ({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    def text(self: Any) -> str:
        shown = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self))
        return f"torch.return_types.{name}(\n{shown})"

    def written(cls: type, out: tuple[TensorBase, ...]) -> Any:
        """Return the result of a call with ``out=``, which has a type of its own: ``max_out`` for ``max``."""
        return globals().get(f"{name}_out", cls)(out)

    def reduced(self: Any) -> tuple[type, tuple[tuple[Any, ...]]]:
        return type(self), (tuple(self),)

    members: dict[str, Any] = {
        "__slots__": (), "__new__": make, "__repr__": text, "__reduce__": reduced,
        "_written": classmethod(written), "__match_args__": fields,
        "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
        "__module__": "mstorch.return_types", "__qualname__": name,
    }  # fmt: skip
    for position, field in enumerate(fields):
        members[field] = property(lambda self, position=position: self[position])
    return type(name, (tuple,), members)


aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
frexp = _named("frexp", "mantissa", "exponent")
geqrf = _named("geqrf", "a", "tau")
histogram = _named("histogram", "hist", "bin_edges")
histogramdd = _named("histogramdd", "hist", "bin_edges")
kthvalue = _named("kthvalue", "values", "indices")
_lu_with_info = _named("_lu_with_info", "LU", "pivots", "info")
lu_unpack = _named("lu_unpack", "P", "L", "U")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
qr = _named("qr", "Q", "R")
slogdet = _named("slogdet", "sign", "logabsdet")
sort = _named("sort", "values", "indices")
svd = _named("svd", "U", "S", "V")
topk = _named("topk", "values", "indices")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_polar = _named("linalg_polar", "U", "H")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
_linalg_det = _named("_linalg_det", "result", "LU", "pivots")
_linalg_eigh = _named("_linalg_eigh", "eigenvalues", "eigenvectors")
_linalg_slogdet = _named("_linalg_slogdet", "sign", "logabsdet", "LU", "pivots")
_linalg_solve_ex = _named("_linalg_solve_ex", "result", "LU", "pivots", "info")
_linalg_svd = _named("_linalg_svd", "U", "S", "Vh")
_unpack_dual = _named("_unpack_dual", "primal", "tangent")

# Results written with ``out=`` have types of their own.
globals().update({
    f"{name}_out": _named(f"{name}_out", *kind.__match_args__)
    for name, kind in list(globals().items())
    if hasattr(kind, "n_fields") and name not in ("_lu_with_info", "_unpack_dual", "histogramdd")
})  # fmt: skip
all_return_types = [kind for name, kind in sorted(globals().items()) if hasattr(kind, "n_fields") and not name.startswith("_")]
