"""torch.linalg compared with torch: values, gradients, errors."""
from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import of_cpu_build

LOOSE = {"rtol": 2e-4, "atol": 2e-5, "strides": False}


def matrices(*shape, dtype="float64", definite=False):
    rng = np.random.RandomState(0)
    array = rng.randn(*shape)
    if dtype.startswith("complex"):
        array = array + 1j * rng.randn(*shape)
    if definite:
        array = array @ array.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1])
    return array.astype(dtype)


SQUARE = [(3, 3), (2, 4, 4), (0, 2, 2), (0, 0), (1, 1)]


@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "function",
    [
        lambda t, a: t.linalg.inv(a),
        lambda t, a: t.linalg.det(a),
        lambda t, a: t.linalg.slogdet(a)[1],
        lambda t, a: t.linalg.cholesky(a @ a.mH + 2 * t.eye(a.shape[-1], dtype=a.dtype)),
        lambda t, a: t.linalg.solve(a, a.mT),
        lambda t, a: t.linalg.solve(a, a[..., :1, :], left=False),
        lambda t, a: t.linalg.solve_triangular(a, a.mT, upper=True),
        lambda t, a: t.linalg.eigvalsh(a + a.mH),
        lambda t, a: t.linalg.svdvals(a),
        lambda t, a: t.linalg.matrix_exp(a * 0.3),
    ],
)
def test_square(both, with_gradients, function, shape, dtype):
    with_gradients(function, matrices(*shape, dtype=dtype), **LOOSE)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "function",
    [
        lambda t, a: t.linalg.pinv(a),
        lambda t, a: t.linalg.lu(a)[1:],
        lambda t, a: t.linalg.lu_factor(a)[0],
        lambda t, a: t.linalg.qr(a),
        lambda t, a: t.linalg.matrix_norm(a, "nuc"),
        lambda t, a: t.linalg.matrix_norm(a, 2),
        lambda t, a: t.linalg.matrix_norm(a, 1, keepdim=True),
        lambda t, a: t.linalg.cond(a),
        lambda t, a: (lambda u, s, v: (u * s[..., None, :]) @ v)(*t.linalg.svd(a, full_matrices=False)),
        lambda t, a: t.linalg.lstsq(a, a[..., :1] * 2 + 1).solution,
    ],
)
def test_rectangular(with_gradients, function, shape, dtype):
    with_gradients(function, matrices(*shape, dtype=dtype), **LOOSE)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_vectors_up_to_phase(with_gradients, dtype):
    def projectors(t, a):
        values, vectors = t.linalg.eigh(a + a.mH)
        return values, (vectors[..., :, :1] @ vectors[..., :, :1].mH).abs()

    with_gradients(projectors, matrices(3, 3, dtype=dtype), **LOOSE)
    with_gradients(
        lambda t, a: (lambda w, v: (v @ t.diag_embed(w * w) @ t.linalg.inv(v)).abs())(*t.linalg.eig(a)),
        matrices(3, 3, dtype=dtype), **LOOSE,
    )


def test_second_derivatives(both):
    def body(torch, function):
        x = torch.tensor(matrices(3, 3, definite=True)).requires_grad_()
        (first,) = torch.autograd.grad(function(torch, x).sum(), x, create_graph=True)
        return torch.autograd.grad((first * first).sum(), x)

    for function in (
        lambda t, x: t.linalg.inv(x), lambda t, x: t.linalg.cholesky(x), lambda t, x: t.linalg.det(x),
        lambda t, x: t.linalg.eigvalsh(x), lambda t, x: t.linalg.qr(x)[1],
    ):  # fmt: skip
        both(lambda t, function=function: body(t, function), rtol=1e-6, strides=False)


def test_products_and_ranks(both):
    a, b = matrices(3, 4), matrices(4, 2)
    both(lambda t: t.linalg.multi_dot([t.tensor(a), t.tensor(b), t.tensor(b).mT]), strides=False)
    both(lambda t: t.linalg.vander(t.tensor([1.0, 2.0, 3.0]), N=4), strides=False)
    both(lambda t: t.linalg.matrix_rank(t.tensor(a @ a.T)))
    both(lambda t: t.linalg.vecdot(t.tensor(a), t.tensor(a)))
    both(lambda t: t.linalg.tensorinv(t.tensor(matrices(4, 2, 2)), ind=1), strides=False)
    both(lambda t: t.linalg.tensorsolve(t.tensor(matrices(2, 2, 4)), t.tensor(matrices(2, 2))), strides=False)
    both(lambda t: t.linalg.householder_product(*t.geqrf(t.tensor(matrices(4, 3)))), strides=False)
    both(lambda t: t.slogdet(t.tensor(matrices(3, 3))))
    both(lambda t: t.tensor(matrices(3, 3)).logdet())
    both(lambda t: t.linalg.norm(t.tensor(a), "fro"))
    both(lambda t: t.cholesky_inverse(t.linalg.cholesky(t.tensor(matrices(3, 3, definite=True)))), strides=False)
    both(lambda t: t.lu_unpack(*t.linalg.lu_factor(t.tensor(a))), strides=False)
    both(lambda t: t.linalg.ldl_solve(*t.linalg.ldl_factor(t.tensor(a @ a.T)), t.tensor(a)), strides=False)


def _eigenvalues(torch, function, size, triangle, place, *batch):
    matrix = torch.tensor(matrices(size, size, definite=True)).expand(*batch, size, size).contiguous()
    matrix[(-1,) * len(batch) + place] = float("nan")
    try:
        found = getattr(torch.linalg, function)(matrix, UPLO=triangle)
    except torch.linalg.LinAlgError as error:
        return str(error).partition(" (error code")[0]  # which depends on where the iteration stops
    return (found if function == "eigvalsh" else found[0]).isnan().any()


@pytest.mark.parametrize("function", ["eigh", "eigvalsh"])
@pytest.mark.parametrize("size", [3, 5, 25, 26, 40])
def test_eigenvalues_of_no_numbers(both, function, size):
    for triangle, place in (("L", (-1, -1)), ("L", (-1, 0)), ("L", (0, -1)), ("U", (0, -1)), ("U", (-1, 0))):
        for batch in ((), (3,)):
            both(lambda torch, where=(triangle, place, *batch): _eigenvalues(torch, function, size, *where))


@pytest.mark.parametrize("of", [lambda t, a: t.linalg.ldl_factor(a), lambda t, a: t.linalg.ldl_factor_ex(a, check_errors=True)])
@pytest.mark.parametrize("singular", [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]]])
def test_factors_of_singular_matrices_are_refused(of, singular):
    """torch fails there with an internal assertion, a RuntimeError."""
    for t in (real_torch, mstorch):
        with pytest.raises(RuntimeError, match="ldl_factor"):
            of(t, t.tensor(singular))


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.linalg.inv(t.zeros(2, 2)),
        lambda t: t.linalg.inv(t.ones(2, 3)),
        lambda t: t.linalg.inv(t.ones(3)),
        lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.int64)),
        lambda t: t.linalg.cholesky(-t.eye(2)),
        lambda t: t.linalg.cholesky(t.stack([t.eye(2), -t.eye(2)])),
        lambda t: t.linalg.solve(t.zeros(2, 2), t.ones(2)),
        lambda t: t.linalg.qr(t.eye(2), mode="x"),
        lambda t: t.linalg.multi_dot([t.ones(2)]),
    ],
)
def test_errors(both, body):
    both(body)


def test_out(both):
    def body(torch):
        out = torch.empty(2, 2)
        return torch.linalg.inv(torch.eye(2) * 2, out=out) is out, out

    both(body, strides=False)


@pytest.mark.parametrize(
    "text",
    [
        "linalg.cholesky(a, out=torch.ones(2, 2, dtype=torch.int32))", "linalg.cholesky(a, out=torch.ones(2, 2))",
        "linalg.cholesky_ex(a, out=(a.clone(), torch.ones((), dtype=torch.int64)))", "linalg.svdvals(a, out=torch.ones(2))",
        "linalg.eig(a, out=(torch.ones(2, dtype=torch.complex128), torch.ones(2, 2)))", "linalg.eigvals(a, out=torch.ones(2))",
        "linalg.pinv(a, out=torch.ones(2, 2, dtype=torch.int32))", "linalg.cond(a, 'fro', out=torch.ones((), dtype=torch.int32))",
        "linalg.matrix_rank(a, out=torch.ones((), dtype=torch.bool))", "linalg.norm(a, out=torch.ones(()))",
        "linalg.householder_product(a, a[0], out=torch.ones(2, 2, dtype=torch.int32))", "mm(a, a, out=torch.ones(2, 2))",
        "cholesky_inverse(a, out=torch.ones(2, 2, dtype=torch.int32))", "dot(a[0], a[0], out=torch.ones(()))",
        "mv(a, a[0], out=torch.ones(2))", "addmm(a, a, a, out=torch.ones(2, 2))", "linalg.multi_dot([a, a], out=torch.ones(2, 2))",
        "linalg.vecdot(a, a, out=torch.ones(2))", "linalg.matrix_norm(a, out=torch.ones(()))",
    ],
)  # fmt: skip
def test_out_of_another_dtype(both, text):
    both(lambda torch: eval(f"torch.{text}", {"torch": torch, "a": torch.eye(2, dtype=torch.float64)}))


@pytest.mark.parametrize(
    "text",
    [
        "linalg.pinv(torch.ones(2))", "linalg.lu(torch.ones(2))", "linalg.lu_factor(torch.ones(3))", "linalg.cond(torch.eye(2), 3)",
        "linalg.vector_norm(torch.ones(2), 1j)", "linalg.matrix_norm(torch.ones(2, 2), 1j)", "norm(torch.ones(2, 2), 1j)",
        "linalg.lstsq(torch.ones(2, 3, 2), torch.ones(2))", "linalg.lstsq(torch.ones(2, 2), torch.ones(2, 1).double())",
        "addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), beta=1j)",
        "addr(*(torch.ones(n, dtype=torch.int8) for n in ((2, 2), 2, 2)), beta=1.5)",
        "addr(*(torch.ones(n, dtype=torch.bool) for n in ((2, 2), 2, 2)), beta=2)",
        "baddbmm(torch.ones(1, 2, 2).double(), torch.ones(1, 2, 2), torch.ones(1, 2, 2))",
        "baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2).double())",
        "_addmm_activation(torch.ones(2), torch.ones(2, 3) * -0.2, torch.ones(3, 2), use_gelu=True, beta=0.5)",
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(both, text):
    both(lambda torch: eval(f"torch.{text}", {"torch": torch}))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_many_small_matrices(both, dtype):
    array, whole = matrices(40, 3, 5, 4, dtype=dtype), np.random.RandomState(0).randint(-1, 2, (80, 4, 4)).astype(dtype)
    square, right = matrices(40, 4, 4, dtype=dtype), matrices(40, 4, 2, dtype=dtype)
    both(lambda torch: torch.linalg.lu_factor_ex(torch.tensor(array)), **LOOSE)
    both(lambda torch: torch.linalg.lu_factor_ex(torch.tensor(whole)), **LOOSE)  # with singular ones among them
    both(lambda torch: torch.linalg.lu(torch.tensor(array.swapaxes(-1, -2))), **LOOSE)
    for upper, unit in ((True, False), (False, False), (True, True)):
        both(lambda torch: torch.linalg.solve_triangular(*map(torch.tensor, (square, right)), upper=upper, unitriangular=unit), **LOOSE)
    both(lambda torch: torch.tensor(square) @ torch.tensor(right), **LOOSE)


@of_cpu_build
def test_preferred_libraries(both):
    for name in ("preferred_linalg_library", "preferred_blas_library"):
        for value in (None, "default", "magma", "cublaslt", "none", 3):
            both(lambda torch: getattr(torch.backends.cuda, name)(value).name)


@pytest.mark.parametrize(
    "text",
    [
        "linalg.solve_triangular(torch.tensor([[1.0, 2], [0, 0]]), torch.ones(2, 1), upper=True)",
        "linalg.solve_triangular(torch.zeros(40, 2, 2), torch.ones(40, 2, 1), upper=False)",
        "cholesky_solve(torch.ones(2, 1), torch.tensor([[1.0, 2], [3, 0]]))", "cholesky_inverse(torch.zeros(2, 2))",
        "cholesky_inverse(torch.diag(torch.tensor([1.0, 0])).expand(2, 2, 2))",
        "lu_unpack(torch.eye(2), torch.tensor([0, 0], dtype=torch.int32))", "lu_unpack(torch.eye(2), torch.tensor([3, 3], dtype=torch.int32))",
        "linalg.lu_solve(torch.eye(2), torch.tensor([0, 0], dtype=torch.int32), torch.eye(2))",
        "linalg.lu_solve(torch.eye(2), torch.tensor([1, 2, 2], dtype=torch.int32), torch.eye(2))",
        "linalg.lu_solve(torch.eye(2), torch.tensor([[1, 2]], dtype=torch.int32), torch.eye(2))",
        "linalg.householder_product(torch.eye(3), torch.ones(3, dtype=torch.int32))", "ormqr(torch.eye(3), torch.ones(3), torch.ones(4, 3))",
        "linalg.householder_product(torch.ones(2, 3, 3), torch.ones(3))", "linalg.lstsq(torch.ones(2, 3), torch.ones(3))",
        "linalg.pinv(torch.eye(2), rtol=torch.ones(1) + 0j)", "einsum('a->1', torch.ones(2))", "einsum('a->..', torch.ones(2))",
        "einsum('...,...', torch.ones(3, 2), torch.ones(5, 4, 2))", "einsum('', [])", "einsum('a', 3)",
        "addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), beta=True)",
    ],
)  # fmt: skip
def test_refusals_and_zeros_on_the_diagonal(both, text):
    both(lambda torch: eval(f"torch.{text}", {"torch": torch}), strides=False)


@pytest.mark.parametrize("name", ["svd", "eig", "eigh"])
def test_a_loss_of_the_phase_is_refused(both, name):
    def body(torch):
        a = torch.tensor(matrices(3, 3, dtype="complex128"), requires_grad=True)
        vectors = getattr(torch.linalg, name)(a + a.mH if name == "eigh" else a)
        (vectors[0] + vectors[2] if name == "svd" else vectors[1]).sum().abs().backward()

    both(body)


MATRIX = np.random.default_rng(5).standard_normal((2, 4, 4)) + 4 * np.eye(4)


@pytest.mark.parametrize("name", ["inv", "lu_factor", "lu", "cholesky", "qr", "svd", "eigh", "solve", "vectors", "right", "triangular"])
def test_results_are_column_major(both, name):
    def body(torch):
        a = torch.tensor(MATRIX)
        spd = a @ a.mT
        found = {
            "cholesky": lambda: (torch.linalg.cholesky(spd), torch.linalg.cholesky(spd, upper=True)),
            "eigh": lambda: torch.linalg.eigh(spd),
            "solve": lambda: (torch.linalg.solve(a, a[..., :3]), torch.cholesky_solve(a[..., :3], spd.tril())),
            "vectors": lambda: torch.linalg.solve(a, a[..., 0]),
            "right": lambda: torch.linalg.solve(a, a[:, :3], left=False),
            "triangular": lambda: torch.linalg.solve_triangular(a.triu(), a[:, :3], upper=True, left=False),
        }.get(name, lambda: getattr(torch.linalg, name)(a))()
        parts = found if isinstance(found, tuple) else (found,)
        return [(tuple(part.shape), part.stride()) for part in parts]

    both(body)


@pytest.mark.parametrize("name", ["triangular_solve", "cholesky_solve", "ldl_solve", "lstsq"])
def test_systems_that_do_not_fit(both, name):
    for b, a in (((2, 4), (2, 4, 4)), ((4, 2), (4, 3)), ((4,), (4, 4)), ((4, 3), (2, 4, 4))):

        def body(torch):
            left, right = torch.ones(b), torch.ones(a)
            if name == "ldl_solve":
                return torch.linalg.ldl_solve(right, torch.ones(a[:-1], dtype=torch.int32), left)
            if name == "lstsq":
                return torch.linalg.lstsq(right, left) if b == (4, 3) else None
            return getattr(torch, name)(left, right) if b != (4, 3) else None

        both(body)


@pytest.mark.parametrize("name", ["fft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
@pytest.mark.parametrize("dim", [(0, 1), (2, 0), (-2, -1)])
def test_transforms_lie_innermost(both, name, dim):
    both(lambda torch: getattr(torch.fft, name)(torch.arange(210.0).reshape(5, 6, 7), dim=dim).stride())
    both(lambda torch: getattr(torch.fft, name)(torch.arange(210.0).reshape(5, 6, 7), s=(4, 9), dim=dim).stride())


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 2)])
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("tracked", ["A", "B", ""])
def test_least_squares_as_lapack_leaves_them(shape, driver, tracked, both):
    """Strides of the solution, and which inputs and outputs autograd tracks."""

    def body(torch):
        A, B = torch.tensor(matrices(*shape)), torch.tensor(matrices(*shape[:-1], 2))
        for name, tensor in (("A", A), ("B", B)):
            tensor.requires_grad_(name == tracked)
        found = torch.linalg.lstsq(A, B, driver=driver)
        if tracked:
            found.solution.sum().backward()
        return [*found, A.grad, B.grad, found.solution._base is None]

    both(body, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 2)])
@pytest.mark.parametrize("ord", [1, -1, 2, -2, np.inf, -np.inf, "nuc", "fro"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms_of_empty_matrices(shape, ord, keepdim, both):
    both(lambda torch: torch.linalg.matrix_norm(torch.zeros(shape), ord, keepdim=keepdim))


def test_sums_row_by_row(both):
    """The result of ``baddbmm`` is row-major, whatever its input's strides."""

    def body(torch):
        x = torch.arange(12.0).reshape(2, 2, 3)
        return torch.baddbmm(torch.ones(2, 2, 2).mT, x, x.mT), torch.baddbmm(torch.ones(2, 2, 2).mT, x, x.mT, beta=2, alpha=3)

    both(body)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_gradients_of_cholesky_of_matrices_that_are_not_hermitian(both, kind, upper):
    random = np.random.RandomState(0)
    parts = [random.standard_normal((4, 4)) + (1j * random.standard_normal((4, 4)) if kind == "complex128" else 0) for _ in range(2)]
    matrix = parts[0] @ parts[0].conj().T + 2 * np.eye(4)

    def body(torch):
        found = []
        for start in (matrix, matrix + np.triu(parts[1], 1), matrix + np.diag(parts[1][0] * 0.1)):
            x = torch.tensor(start, requires_grad=True)
            y = (torch.linalg.cholesky(x, upper=upper) * torch.tensor(parts[1])).sum()
            (y.real if y.is_complex() else y).backward()
            found.append(torch.view_as_real(x.grad.resolve_conj()) if y.is_complex() else x.grad)
        return found

    both(body, strides=False)


@pytest.mark.parametrize("kind", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("alpha,beta", [(0, 1), (1, 0), (0, 0), (0, 2)])
@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm", "addr"])
def test_factors_of_zero(both, name, alpha, beta, kind):
    shapes = {
        "addmm": ((2, 2), (2, 2), (2, 2)), "addmv": ((2,), (2, 2), (2,)), "addbmm": ((2, 2), (3, 2, 2), (3, 2, 2)),
        "baddbmm": ((3, 2, 2), (3, 2, 2), (3, 2, 2)), "addr": ((2, 2), (2,), (2,)),
    }[name]  # fmt: skip

    def body(torch):
        tensors = [torch.ones(shape, dtype=getattr(torch, kind)) for shape in shapes]
        for tensor in tensors:
            tensor.view(-1)[0] = float("nan")
            tensor.requires_grad_()
        found = getattr(torch, name)(*tensors, alpha=alpha, beta=beta)
        parts = [found, *torch.autograd.grad(found, tensors, torch.ones_like(found))]
        return [torch.view_as_real(part.resolve_conj()) if part.is_complex() else part for part in parts]

    both(body, strides=False)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss", None])
@pytest.mark.parametrize("rcond", [None, 0.01, 0.9, 1.0, 2.0, -1.0])
@pytest.mark.parametrize("matrix", ["full", "deficient", "wide", "zero", "batch"])
def test_shares_of_singular_values_that_lstsq_takes_for_0(both, driver, rcond, matrix):
    """A negative ``rcond`` means the dtype's epsilon; gelsd treats a value of 1 and more so, too, and gelsy keeps a column."""
    if driver in ("gelsy", None) and rcond is not None and not 0 < rcond < 0.9:
        pytest.skip("LAPACK's own rounding, of a matrix without full rank, or with columns left out")

    def body(torch):
        A = {
            "full": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]), "deficient": torch.ones(3, 2), "zero": torch.zeros(2, 2),
            "wide": torch.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 6.0]]), "batch": torch.stack([torch.eye(2), torch.ones(2, 2)]),
        }[matrix]  # fmt: skip
        B = torch.arange(1.0, 1 + A[..., :1].numel()).reshape(*A.shape[:-1], 1)
        return tuple(torch.linalg.lstsq(A, B, rcond=rcond, driver=driver))

    both(body, rtol=1e-4, atol=1e-5, strides=False)


@pytest.mark.parametrize("matrix", ["torch.eye(3, 2) * torch.tensor([1.0, 0.0])", "torch.zeros(3, 2)", "torch.stack([torch.eye(2), torch.zeros(2, 2)])", "torch.eye(3, 2)"])
def test_gels_expects_full_rank(both, matrix):
    if mstorch.get_default_device().type != "cpu" and matrix != "torch.eye(3, 2)":
        pytest.skip("the values of a device are not read")

    def body(torch):
        A = eval(matrix, {"torch": torch})
        return torch.linalg.lstsq(A, torch.ones(*A.shape[:-1], 1), driver="gels").solution

    both(body)


@pytest.mark.parametrize("name", ["inv_ex", "solve_ex", "cholesky_ex", "lu_factor_ex", "inv", "solve", "cholesky", "lu_factor", "tensorinv"])
@pytest.mark.parametrize("matrices", ["zeros", "batch"])
def test_errors_name_the_function(both, name, matrices):
    def body(torch):
        a = torch.zeros(2, 2) if matrices == "zeros" else torch.stack([torch.eye(2), torch.zeros(2, 2)])
        function = getattr(torch.linalg, name)
        return function(*((a, a) if "solve" in name else (a,)), **({"check_errors": True} if name.endswith("_ex") else {}))

    both(body)
