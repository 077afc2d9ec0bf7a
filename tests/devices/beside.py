"""CPU tensors next to an Ascend device stay on the CPU, and operations without a device kernel fall back to the CPU: ``python -m
tests.devices.beside``."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mstorch as torch

L, F = torch.linalg, torch.nn.functional
CALLS: dict[str, Callable[[Any], Any]] = {
    "cholesky": L.cholesky, "cholesky_ex": L.cholesky_ex, "inv": L.inv, "inv_ex": L.inv_ex, "det": L.det, "slogdet": L.slogdet,
    "solve": lambda a: L.solve(a, a + 1), "solve_ex": lambda a: L.solve_ex(a, a + 1), "qr": L.qr, "svd": L.svd, "svdvals": L.svdvals,
    "eigh": L.eigh, "eigvalsh": L.eigvalsh, "eig": L.eig, "eigvals": L.eigvals, "pinv": L.pinv, "matrix_rank": L.matrix_rank,
    "cond": L.cond, "cond, nuclear": lambda a: L.cond(a, "nuc"), "lstsq": lambda a: L.lstsq(a, a + 1)[0], "lu": L.lu, "lu_factor": L.lu_factor,
    "lu_solve": lambda a: L.lu_solve(*L.lu_factor(a), a + 1), "ldl_factor": lambda a: L.ldl_factor(a.detach()),
    "ldl_solve": lambda a: L.ldl_solve(*L.ldl_factor(a.detach()), a.detach() + 1),
    "solve_triangular": lambda a: L.solve_triangular(a, a + 1, upper=True), "matrix_exp": L.matrix_exp, "matrix_power": lambda a: L.matrix_power(a, -2),
    "matrix_norm": lambda a: L.matrix_norm(a, 2), "norm": L.norm, "vector_norm": L.vector_norm, "multi_dot": lambda a: L.multi_dot([a, a, a]),
    "householder_product": lambda a: L.householder_product(*torch.geqrf(a.detach())), "tensorinv": lambda a: L.tensorinv(a.reshape(4, 2, 2), 1),
    "cholesky_solve": lambda a: torch.cholesky_solve(a, L.cholesky(a)), "cholesky_inverse": lambda a: torch.cholesky_inverse(L.cholesky(a)),
    "logdet": torch.logdet, "geqrf": lambda a: torch.geqrf(a.detach()), "unique(dim)": lambda a: torch.unique(a.detach(), dim=0), "fft": torch.fft.fft,
    "stft": lambda a: torch.stft(a.reshape(-1), 4, return_complex=True, window=torch.ones(4, device=a.device)),
    "scatter_reduce": lambda a: a.scatter_reduce(0, (a > 1).long(), a, "amax"), "max_pool3d": lambda a: torch.max_pool3d(a[None, None], (1, 2, 2)),
    "polygamma": lambda a: torch.polygamma(1, a.abs() + 1), "logcumsumexp": lambda a: a.logcumsumexp(1), "nextafter": lambda a: torch.nextafter(a, a + 1),
    "MultivariateNormal": lambda a: torch.distributions.MultivariateNormal(a[0], a).log_prob(a[1]),
    "cross": lambda a: L.cross(a[:, :3], a[:, 1:]), "diagonal": L.diagonal, "vander": lambda a: L.vander(a[0]), "vecdot": lambda a: L.vecdot(a, a + 1),
    "tensorsolve": lambda a: L.tensorsolve(a.reshape(2, 2, 4), a[0].reshape(2, 2)), "lu_factor_ex": lambda a: L.lu_factor_ex(a)[0],
    "ldl_factor_ex": lambda a: L.ldl_factor_ex(a.detach())[0], "matmul": lambda a: L.matmul(a, a), "svd_lowrank": lambda a: torch.svd_lowrank(a, 4)[1],
    "eigvalsh of complex": lambda a: L.eigvalsh(torch.complex(a, a * 0)), "rfft": torch.fft.rfft, "irfft": lambda a: torch.fft.irfft(torch.fft.rfft(a)),
    "fft2": torch.fft.fft2, "ctc_loss": lambda a: F.ctc_loss(a[:, None].log_softmax(2), torch.tensor([[1, 2]]), [4], [2]),
    "cummin": lambda a: a.cummin(1), "histc": lambda a: torch.histc(a.detach(), 4), "bucketize": lambda a: torch.bucketize(a.detach(), a.detach()[0].sort()[0]),
    "unique_consecutive": lambda a: a.detach().unique_consecutive(), "segment_reduce": lambda a: torch.segment_reduce(a, "max", lengths=torch.tensor([1, 3], device=a.device)),
    "cov": torch.cov, "corrcoef": torch.corrcoef, "trapezoid": torch.trapezoid, "gammainc": lambda a: torch.special.gammainc(a.detach().abs(), a.abs()),
    "bessel_j0": lambda a: torch.special.bessel_j0(a.detach()), "zeta": lambda a: torch.special.zeta(a.detach().abs() + 2, a.detach().abs() + 1),
    "digamma": torch.digamma, "erfinv": lambda a: torch.erfinv(a.sigmoid() - 0.5), "grid_sample": lambda a: F.grid_sample(a[None, None], a[None, :, :2, None].expand(1, 4, 2, 2).tanh(), align_corners=False),
    "fractional_max_pool2d": lambda a: F.fractional_max_pool2d(a[None, None], 2, 2, _random_samples=torch.full((1, 1, 2), 0.5, device=a.device)),
    "adaptive_max_pool3d": lambda a: F.adaptive_max_pool3d(a.reshape(1, 1, 2, 2, 4), 2), "lp_pool1d": lambda a: F.lp_pool1d(a[None].abs(), 2.0, 2),
    "conv_transpose3d": lambda a: F.conv_transpose3d(a.reshape(1, 1, 2, 2, 4), a[:2, :4].reshape(1, 1, 2, 2, 2)), "embedding_bag": lambda a: F.embedding_bag(torch.tensor([[0, 1]], device=a.device), a),
    "quantile": lambda a: a.quantile(0.3, 1), "nanmedian": lambda a: a.nanmedian(), "mode": lambda a: a.mode(1), "combinations": lambda a: torch.combinations(a[0]),
    "istft": lambda a: torch.istft(torch.stft(a.reshape(-1), 4, return_complex=True, window=torch.ones(4, device=a.device)), 4, window=torch.ones(4, device=a.device)),
    "pdist": F.pdist, "tensordot": lambda a: torch.tensordot(a, a, 1), "searchsorted": lambda a: torch.searchsorted(a.detach().sort(1)[0], a.detach()),
    "complex powers": lambda a: torch.complex(a, a + 1) ** 0.5, "acosh of complex": lambda a: torch.complex(a, a + 1).acosh(), "small products": lambda a: torch.matrix_exp(a / 8),
}  # fmt: skip


def recorded(path: str) -> None:
    """Record the results of the calls in a process without a device."""
    found = {name: [item.detach().resolve_conj().numpy() for item in _given(function, "cpu")] for name, function in CALLS.items()}
    np.savez(path, **{f"{name}/{number}": array for name, arrays in found.items() for number, array in enumerate(arrays)})


def _alone() -> dict[str, list[np.ndarray]]:
    """Return the results of the calls in a process without a device."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MSTORCH_")}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.npz")
        subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.devices.beside", path], check=True, env=environment)
        found: dict[str, list[np.ndarray]] = {}
        for key, array in np.load(path).items():
            found.setdefault(key.rpartition("/")[0], []).append(array)
    return found


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
    """Return calls of CPU tensors that use the device or warn, and results on the device that differ from the CPU's or are elsewhere."""
    wrong = []
    alone = _alone()
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
        if not all(np.allclose(item.detach().resolve_conj().numpy(), kept, 1e-5, 1e-6) for item, kept in zip(here, alone[name])):
            wrong.append(f"{name} on the CPU: other values than without a device")
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
    """Check that each operation that falls back warns once, with the user's line, and raises if the environment variable requests it."""
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
    here, there = torch.ones(2), torch.ones(2, dtype=torch.float64).npu()
    moved = [here.to(there), here.type_as(there), torch.nn.Linear(2, 2).to(there).weight, there.to(here), there.type_as(here)]
    if [item.device.type for item in moved] != ["npu"] * 3 + ["cpu"] * 2:
        wrong.append(f"to a tensor's place: {[str(item.device) for item in moved]}")
    turned = torch.ones(2, dtype=torch.complex64).conj()
    return wrong if (turned.is_conj(), turned.device.type, turned.mul(1).device.type) == (True, "cpu", "cpu") else [*wrong, "conj"]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        recorded(sys.argv[1])
    else:
        print(warnings_and_refusals() + sweep() + ([] if len(CALLS) >= 90 else [f"{len(CALLS)} calls"]))
