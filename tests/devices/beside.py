"""Tensors of the CPU beside an Ascend are the CPU's, and what the device has no kernel of comes back to it: ``python -m tests.devices.beside``."""
from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch

L = torch.linalg
CALLS: dict[str, Callable[[Any], Any]] = {
    "cholesky": L.cholesky, "cholesky_ex": L.cholesky_ex, "inv": L.inv, "inv_ex": L.inv_ex, "det": L.det, "slogdet": L.slogdet,
    "solve": lambda a: L.solve(a, a + 1), "solve_ex": lambda a: L.solve_ex(a, a + 1), "qr": L.qr, "svd": L.svd, "svdvals": L.svdvals,
    "eigh": L.eigh, "eigvalsh": L.eigvalsh, "eig": L.eig, "eigvals": L.eigvals, "pinv": L.pinv, "matrix_rank": L.matrix_rank,
    "cond": L.cond, "cond, nuclear": lambda a: L.cond(a, "nuc"), "lstsq": lambda a: L.lstsq(a, a + 1)[0], "lu": L.lu, "lu_factor": L.lu_factor,
    "lu_solve": lambda a: L.lu_solve(*L.lu_factor(a), a + 1), "ldl_factor": L.ldl_factor, "ldl_solve": lambda a: L.ldl_solve(*L.ldl_factor(a), a + 1),
    "solve_triangular": lambda a: L.solve_triangular(a, a + 1, upper=True), "matrix_exp": L.matrix_exp, "matrix_power": lambda a: L.matrix_power(a, -2),
    "matrix_norm": lambda a: L.matrix_norm(a, 2), "norm": L.norm, "vector_norm": L.vector_norm, "multi_dot": lambda a: L.multi_dot([a, a, a]),
    "householder_product": lambda a: L.householder_product(*torch.geqrf(a)), "tensorinv": lambda a: L.tensorinv(a.reshape(4, 2, 2), 1),
    "cholesky_solve": lambda a: torch.cholesky_solve(a, L.cholesky(a)), "cholesky_inverse": lambda a: torch.cholesky_inverse(L.cholesky(a)),
    "logdet": torch.logdet, "geqrf": torch.geqrf, "unique(dim)": lambda a: torch.unique(a.detach(), dim=0), "fft": torch.fft.fft,
    "stft": lambda a: torch.stft(a.reshape(-1), 4, return_complex=True, window=torch.ones(4, device=a.device)),
    "scatter_reduce": lambda a: a.scatter_reduce(0, (a > 1).long(), a, "amax"), "max_pool3d": lambda a: torch.max_pool3d(a[None, None], (1, 2, 2)),
    "polygamma": lambda a: torch.polygamma(1, a.abs() + 1), "logcumsumexp": lambda a: a.logcumsumexp(1), "nextafter": lambda a: torch.nextafter(a, a + 1),
    "MultivariateNormal": lambda a: torch.distributions.MultivariateNormal(a[0], a).log_prob(a[1]),
}  # fmt: skip


def _leaves(value: Any) -> list[Any]:
    return [value] if isinstance(value, torch.Tensor) else [leaf for item in value for leaf in _leaves(item)]


def _given(function: Callable[[Any], Any], place: str) -> list[Any]:
    torch.manual_seed(0)
    a = torch.randn(4, 4)
    a = (a @ a.mT + 4 * torch.eye(4)).to(place).requires_grad_()
    found = _leaves(function(a))
    followed = [item for item in found if item.requires_grad]
    if followed:
        sum(item.abs().sum() for item in followed).backward()
    return found if a.grad is None else [*found, a.grad]


def sweep() -> list[str]:
    """Calls of CPU tensors that leave the CPU or warn, and of the device's tensors that are not like them, or elsewhere."""
    wrong = []
    for name, function in CALLS.items():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                here = _given(function, "cpu")
            except NotImplementedError as error:
                wrong.append(f"{name} on the CPU: {error}")
                continue
        if any(item.device.type != "cpu" for item in here) or any("no kernel" in str(item.message) for item in told):
            wrong.append(f"{name} on the CPU: {[str(item.device) for item in here]}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                there = _given(function, "npu")
            except Exception as error:  # noqa: BLE001 - whatever it is belongs into the list
                wrong.append(f"{name} on the device: {type(error).__name__} {str(error)[:120]}")
                continue
        if any(item.device.type != "npu" for item in there):
            wrong.append(f"{name} on the device: {[str(item.device) for item in there]}")
        elif not all(torch.allclose(a, b.cpu(), 1e-3, 1e-4) for a, b in zip(here, there)):
            wrong.append(f"{name} on the device: other values")
    return wrong


def warnings_and_refusals() -> list[str]:
    """One warning for each operation that falls back, at the user's line; errors where the environment asks for them."""
    a = torch.eye(3).npu()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            torch.special.airy_ai(a)
    found = [str(item.message) for item in told if "airy_ai" in str(item.message) and item.filename == __file__]
    wrong = [] if len(found) == 1 else [f"{len(found)} warnings"]
    for name, value in {"MSTORCH_FALLBACK": "0", "TORCH_NPU_FALLBACK_CPU_DISABLE": "1"}.items():
        os.environ[name] = value
        try:
            L.cholesky(a)
            wrong.append(f"{name} raises nothing")
        except NotImplementedError as error:
            wrong += [] if "linalg_cholesky has no Ascend kernel" in str(error) else [str(error)]
        if not torch.equal(L.cholesky(torch.eye(3)), torch.eye(3)):
            wrong.append(f"{name}: the CPU")
        del os.environ[name]
    turned = torch.ones(2, dtype=torch.complex64).conj()
    return wrong if (turned.is_conj(), turned.device.type, turned.mul(1).device.type) == (True, "cpu", "cpu") else [*wrong, "conj"]


if __name__ == "__main__":
    print(warnings_and_refusals() + sweep())
