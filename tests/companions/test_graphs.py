"""torch_scatter, torch_sparse and torch_cluster against formulas in double precision, element by element, with gradients."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions

scattering, sparse, cluster = companions.torch_scatter, companions.torch_sparse, companions.torch_cluster
splines = companions.torch_spline_conv
REDUCTIONS = {"sum": sum, "add": sum, "mul": math.prod, "mean": lambda items: sum(items) / len(items), "min": min, "max": max}
EMPTY = {"mul": 1.0}
INDEX = [0, 3, 0, 1, 3, 3, 0]


def _leaf(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).requires_grad_()


def _reduced(src: torch.Tensor, index: list[int], size: int, reduce: str) -> torch.Tensor:
    """Return reductions over the first dimension, computed by Python for each element, and tracked by autograd."""
    rows = []
    for group in range(size):
        own = [src[place].reshape(-1) for place, other in enumerate(index) if other == group]
        if not own:
            rows.append(torch.full((src[0].numel(),), EMPTY.get(reduce, 0.0), dtype=src.dtype))
            continue
        columns = [REDUCTIONS[reduce]([row[column] for row in own]) for column in range(own[0].numel())]
        rows.append(torch.stack(columns))
    return torch.stack(rows).view(size, *src.shape[1:])


def _same(got: torch.Tensor, want: torch.Tensor, *leaves: torch.Tensor) -> None:
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    weight = torch.linspace(-1, 2, want.numel(), dtype=torch.float64).view(want.shape)
    slopes = [torch.autograd.grad((item * weight).sum(), leaves, retain_graph=True) for item in (got, want)]
    for one, other in zip(*slopes):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scatter(reduce: str, dim: int) -> None:
    shape = [(7, 2, 3), (2, 7, 3), (2, 3, 7)][dim]
    src, index = _leaf(*shape), torch.tensor(INDEX)
    want = _reduced(src.movedim(dim, 0), INDEX, 5, reduce).movedim(0, dim)
    _same(scattering.scatter(src, index, dim, dim_size=5, reduce=reduce), want, src)
    assert scattering.scatter(src, index, dim, reduce=reduce).shape[dim] == 4
    whole = index.view([-1 if i == dim % 3 else 1 for i in range(3)]).expand(shape)
    assert torch.equal(scattering.scatter(src, whole, dim, dim_size=5, reduce=reduce), scattering.scatter(src, index, dim, dim_size=5, reduce=reduce))


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_segments(reduce: str) -> None:
    src, sizes = _leaf(7, 3), [2, 0, 4, 1]
    ends, index = torch.tensor([0, 2, 2, 6, 7]), [group for group, size in enumerate(sizes) for _ in range(size)]
    if reduce == "mul":
        for call in (lambda: scattering.segment_csr(src, ends, reduce="mul"), lambda: scattering.segment_coo(src, torch.tensor(index), reduce="mul")):
            with pytest.raises(ValueError, match="reduce must be"):
                call()
        return
    want = _reduced(src, index, 4, reduce)
    _same(scattering.segment_csr(src, ends, reduce=reduce), want, src)
    _same(scattering.segment_coo(src, torch.tensor(index), dim_size=4, reduce=reduce), want, src)
    part = scattering.segment_csr(src, torch.tensor([2, 3, 6]), reduce=reduce)  # the rest is in no segment
    _same(part, _reduced(src[2:6], [0, 1, 1, 1], 2, reduce), src)
    several = _leaf(2, 7, 3, seed=1)
    bounds = torch.tensor([[0, 2, 2, 6, 7], [0, 1, 4, 4, 7]])
    whole = torch.stack([_reduced(several[0], index, 4, reduce), _reduced(several[1], [0, 1, 1, 1, 3, 3, 3], 4, reduce)])
    _same(scattering.segment_csr(several, bounds, reduce=reduce), whole, several)


def test_places_of_extremes() -> None:
    src = torch.tensor([2.0, 5.0, 2.0, -1.0, 5.0])
    index = torch.tensor([0, 1, 0, 3, 1])
    for call, values, places in ((scattering.scatter_max, [2, 5, 0, -1], [0, 1, 5, 3]), (scattering.scatter_min, [2, 5, 0, -1], [0, 1, 5, 3])):
        found, where = call(src, index)
        assert found.tolist() == values and where.tolist() == places
    out = torch.tensor([3.0, 3.0, 3.0, 3.0])
    found, where = scattering.scatter_max(src, index, out=out)
    assert found is out and out.tolist() == [3, 5, 3, 3] and where.tolist() == [5, 1, 5, 5]
    ends = torch.tensor([0, 2, 2, 5])
    assert [item.tolist() for item in scattering.segment_max_csr(src, ends)] == [[5, 0, 5], [1, 5, 4]]
    assert [item.tolist() for item in scattering.segment_min_coo(src, torch.tensor([0, 0, 2, 2, 2]))] == [[2, 0, -1], [0, 5, 3]]
    whole = torch.tensor([7, -8, 5])
    assert scattering.scatter_mean(whole, torch.tensor([0, 0, 1])).tolist() == [-1, 5]
    assert scattering.scatter_max(whole, torch.tensor([1, 1, 1]))[0].tolist() == [0, 7]


def test_sums_into_tensors() -> None:
    src, index, out = _leaf(7, 2), torch.tensor(INDEX), _leaf(5, 2, seed=3).detach()
    sums, squares = _reduced(src, INDEX, 5, "sum").detach(), out.clone()
    assert torch.allclose(scattering.scatter_sum(src.detach(), index, 0, out=squares), out + sums) and torch.allclose(squares, out + sums)
    product = scattering.scatter_mul(src.detach(), index, 0, out=out.clone())
    assert torch.allclose(product, out * _reduced(src, INDEX, 5, "mul"))


def test_products_have_no_gradient_where_an_element_is_zero() -> None:
    src = torch.tensor([2.0, 0.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
    for product in (scattering.scatter_mul, companions.pyg_lib.ops.scatter_mul):
        (slope,) = torch.autograd.grad(product(src, torch.tensor([0, 0, 1, 1])).sum(), src)
        assert slope.tolist() == [0, 0, 5, 3]  # the package's convention: the product over the element


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_and_its_kin(dim: int) -> None:
    src = _leaf(*((7, 3) if dim == 0 else (3, 7)))
    index, rows = torch.tensor(INDEX), src.movedim(dim, 0)
    sums = _reduced(rows.exp(), INDEX, 5, "sum")
    want = rows.exp() / sums[index]
    _same(scattering.scatter_softmax(src, index, dim), want.movedim(0, dim), src)
    _same(scattering.scatter_log_softmax(src, index, dim), want.log().movedim(0, dim), src)
    filled = torch.where(sums == 0, 1, sums).log()
    _same(scattering.scatter_logsumexp(src, index, dim, dim_size=5), filled.movedim(0, dim), src)
    for unbiased in (True, False):
        own = torch.tensor([0, 3, 0, 0, 3, 3, 0])  # at a deviation of 0, as of a single element, the root has no slope
        deviations = torch.stack([torch.std(rows[own == group], 0, unbiased=unbiased) for group in (0, 3)])
        got = scattering.scatter_std(src, own, dim, unbiased=unbiased).movedim(dim, 0)
        _same(got[[0, 3]], deviations, src)
        assert got[[1, 2]].eq(0).all() and scattering.scatter_std(src, index, dim).movedim(dim, 0)[1].eq(0).all()
    with pytest.raises(ValueError, match="floating point"):
        scattering.scatter_softmax(torch.arange(7), index)
    large = torch.tensor([1000.0, 1001.0, -1000.0], dtype=torch.float64)
    assert torch.allclose(scattering.scatter_logsumexp(large, torch.tensor([0, 0, 1])), large.new_tensor([1001.3132616875, -1000]))


def test_gathers() -> None:
    src = _leaf(4, 3)
    index = torch.tensor([0, 0, 2, 3])
    _same(scattering.gather_coo(src, index), src[index], src)
    _same(scattering.gather_csr(src, torch.tensor([0, 2, 2, 3, 6])), src[[0, 0, 2, 3, 3, 3]], src)
    with pytest.raises(ValueError, match="reduce must be"):
        scattering.scatter(src, index, reduce="median")


# Sparse matrices


def _matrix(rows: int, columns: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a dense matrix with zeros, and a sparse one."""
    draw = np.random.default_rng(seed)
    dense = torch.tensor(draw.normal(size=(rows, columns)) * (draw.random((rows, columns)) < 0.4))
    return dense, sparse.SparseTensor.from_dense(dense)


def test_functions_of_indices() -> None:
    dense, matrix = _matrix(4, 5)
    row, col, value = matrix.coo()
    value = value.requires_grad_()
    places, other = torch.stack([row, col]), _leaf(5, 2)
    whole = torch.zeros(4, 5, dtype=torch.float64).index_put((row, col), value)
    _same(sparse.spmm(places, value, 4, 5, other), whole @ other, value, other)
    turned, values = sparse.transpose(places, value, 4, 5)
    assert torch.equal(torch.zeros(5, 4, dtype=torch.float64).index_put(tuple(turned), values), dense.t())
    order = torch.randperm(len(row), generator=torch.Generator().manual_seed(0))
    twice = torch.cat([places[:, order], places], 1)
    again, doubled = sparse.coalesce(twice, torch.cat([value[order], value]), 4, 5)
    assert torch.equal(again, places) and torch.allclose(doubled, 2 * value)
    assert torch.equal(sparse.coalesce(twice, torch.cat([value[order], value * 3]), 4, 5, "max")[1], torch.maximum(value, value * 3))
    second, another = _matrix(5, 3, seed=1)
    own_row, own_col, own_value = another.coo()
    own_value = own_value.requires_grad_()
    found, product = sparse.spspmm(places, value, torch.stack([own_row, own_col]), own_value, 4, 5, 3)
    own_whole = torch.zeros(5, 3, dtype=torch.float64).index_put((own_row, own_col), own_value)
    _same(torch.zeros(4, 3, dtype=torch.float64).index_put(tuple(found), product), whole @ own_whole, value, own_value)
    ones = sparse.eye(3)
    assert ones[0].tolist() == [[0, 1, 2]] * 2 and ones[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_products_of_sparse_tensors(reduce: str) -> None:
    dense, matrix = _matrix(6, 5)
    other = _leaf(5, 2)
    row, col, value = matrix.coo()
    _same(matrix.matmul(other, reduce), _reduced(value[:, None] * other[col], row.tolist(), 6, reduce), other)
    if reduce == "sum":
        assert torch.allclose(matrix @ other, dense @ other) and torch.allclose(matrix @ other[:, 0], dense @ other[:, 0])
        assert torch.allclose((matrix @ matrix.t()).to_dense(), dense @ dense.t())
        without = matrix.set_value(None)
        assert torch.allclose(without @ other, (dense != 0).double() @ other)


def test_forms_of_sparse_tensors() -> None:
    dense, matrix = _matrix(5, 6)
    order = torch.randperm(matrix.nnz(), generator=torch.Generator().manual_seed(1))
    row, col, value = matrix.coo()
    mixed = sparse.SparseTensor(row=row[order], col=col[order], value=value[order], sparse_sizes=(5, 6))
    assert torch.equal(mixed.to_dense(), dense) and torch.equal(mixed.coo()[0], row) and torch.equal(mixed.t().to_dense(), dense.t())
    rows, _, _ = matrix.csr()
    assert torch.equal(rows, dense.ne(0).sum(1).cumsum(0).new_tensor([0, *dense.ne(0).sum(1).cumsum(0).tolist()]))
    columns, own_rows, own_values = matrix.csc()
    assert torch.equal(sparse.SparseTensor(rowptr=columns, col=own_rows, value=own_values, sparse_sizes=(6, 5)).to_dense(), dense.t())
    assert torch.equal(matrix.to_torch_sparse_csr_tensor().to_dense(), dense)
    assert torch.equal(sparse.SparseTensor.from_torch_sparse_coo_tensor(matrix.to_torch_sparse_coo_tensor()).to_dense(), dense)
    assert matrix.sizes() == [5, 6] and matrix.nnz() == int(dense.ne(0).sum()) and not matrix.is_symmetric()
    assert (matrix @ sparse.SparseTensor.eye(6)).to_dense().equal(dense)
    for dim, (name, way) in itertools.product((0, 1), {"sum": torch.sum, "mean": None}.items()):
        want = dense.sum(dim) if way is not None else dense.sum(dim) / dense.ne(0).sum(dim).clamp(min=1)
        assert torch.allclose(getattr(matrix, name)(dim), want)
    with pytest.raises(AttributeError, match="does not provide it yet"):
        matrix.spspmm_rowwise()
    with pytest.raises(ValueError, match="row, col and value"):
        sparse.SparseTensor(row=row, col=col[1:])


def test_parts_of_sparse_tensors() -> None:
    dense, matrix = _matrix(5, 6)
    mask, index = torch.tensor([True, False, True, True, False]), torch.tensor([3, 0, 3])
    for part in (slice(1, 4), slice(0, 5, 2), mask, index, (slice(None), slice(2, 4)), (index, index)):
        want = dense[index][:, index] if isinstance(part, tuple) and part[0] is index else dense[part]
        assert torch.equal(matrix[part].to_dense(), want), part
    assert torch.equal(matrix[2].to_dense(), dense[2:3])
    for k in (-1, 0, 2):
        want = dense.clone()
        want.diagonal(k).fill_(1.0)
        assert torch.equal(matrix.set_diag(k=k).to_dense(), want)
        want.diagonal(k).fill_(-2.5)
        assert torch.equal(sparse.fill_diag(matrix, -2.5, k).to_dense(), want)
        want.diagonal(k).zero_()
        assert torch.equal(matrix.remove_diag(k).to_dense(), want)
    assert torch.equal(matrix.get_diag(), dense.diagonal())
    factor = torch.arange(1, 6, dtype=torch.float64).view(-1, 1)
    assert torch.equal(matrix.mul(factor).to_dense(), dense * factor) and torch.equal((matrix * 2).to_dense(), dense * 2)
    assert torch.equal((matrix + matrix).to_dense(), dense * 2)
    assert torch.equal(sparse.cat([matrix, matrix], 0).to_dense(), torch.cat([dense, dense]))
    assert torch.equal(sparse.cat([matrix, matrix], 1).to_dense(), torch.cat([dense, dense], 1))
    assert torch.equal(sparse.cat([matrix, matrix], (0, 1)).to_dense(), torch.block_diag(dense, dense))


# Points


def _points() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(0)
    batch_x, batch_y = torch.tensor([0] * 9 + [2] * 6 + [3] * 2), torch.tensor([0] * 4 + [1] * 2 + [2] * 5)
    return torch.tensor(draw.random((17, 3))), torch.tensor(draw.random((11, 3))), batch_x, batch_y


def _far(x: torch.Tensor, y: torch.Tensor, batch_x: torch.Tensor, batch_y: torch.Tensor, i: int) -> list[tuple[float, int]]:
    """Return the distances of the points of ``x`` to point i of ``y``, in its example, and their places."""
    return [(math.dist(y[i].tolist(), x[j].tolist()), j) for j in range(len(x)) if batch_x[j] == batch_y[i]]


def test_nearest_points() -> None:
    x, y, batch_x, batch_y = _points()
    for k in (1, 4, 20):
        want = [[i, j] for i in range(len(y)) for _, j in sorted(_far(x, y, batch_x, batch_y, i))[:k]]
        assert cluster.knn(x, y, k, batch_x, batch_y).t().tolist() == want
    assert cluster.knn(x, y, 2).shape == (2, 22)
    angles = cluster.knn(x, y, 1, cosine=True)[1]
    lengths = (y @ x.t()) / (y.norm(dim=1)[:, None] * x.norm(dim=1))
    assert torch.equal(angles, lengths.argmax(1))
    edges = cluster.knn_graph(x, 3, batch_x)
    want = [[j, i] for i in range(len(x)) for _, j in sorted(_far(x, x, batch_x, batch_x, i))[1:4]]
    assert edges.t().tolist() == want and cluster.knn_graph(x, 3, batch_x, flow="target_to_source").flip(0).t().tolist() == want
    looped = cluster.knn_graph(x, 3, batch_x, loop=True)
    assert (looped[0] == looped[1]).sum() == 17 and looped.shape[1] == 3 * 9 + 3 * 6 + 2 * 2
    own = torch.tensor([0, 0, 2, 2, 3])
    assert cluster.nearest(y[:5], x, own, batch_x).tolist() == [min(_far(x, y[:5], batch_x, own, i))[1] for i in range(5)]


def test_points_within_a_distance() -> None:
    x, y, batch_x, batch_y = _points()
    for r, most in ((0.4, 32), (0.9, 3)):
        want = [[i, j] for i in range(len(y)) for j in [j for far, j in _far(x, y, batch_x, batch_y, i) if far < r][:most]]
        assert cluster.radius(x, y, r, batch_x, batch_y, most).t().tolist() == want
    pairs = [[j, i] for i in range(17) for far, j in _far(x, x, batch_x, batch_x, i) if far < 0.5]
    assert cluster.radius_graph(x, 0.5, batch_x, loop=True).t().tolist() == pairs
    assert cluster.radius_graph(x, 0.5, batch_x).t().tolist() == [pair for pair in pairs if pair[0] != pair[1]]
    with pytest.raises(ValueError, match="sorted"):
        cluster.radius(x, y, 0.5, batch_x.flip(0), batch_y)


def test_samples_and_cells() -> None:
    x, _, batch, _ = _points()
    chosen = cluster.fps(x, batch, 0.5, random_start=False).tolist()
    want = []
    for example in (0, 2, 3):
        own = [i for i in range(17) if batch[i] == example]
        picked = own[:1]
        while len(picked) < math.ceil(len(own) / 2):
            picked.append(max(own, key=lambda i: min(math.dist(x[i].tolist(), x[j].tolist()) for j in picked)))
        want += picked
    assert chosen == want and cluster.fps(x, ptr=[0, 9, 9, 15, 17], ratio=0.5, random_start=False).tolist() == want
    assert len(set(cluster.fps(x, batch, 1.0).tolist())) == 17
    places = torch.tensor([[0.0, 0.0], [11.0, 9.0], [2.0, 8.0], [2.0, 2.0], [8.0, 3.0]])
    assert cluster.grid_cluster(places, torch.tensor([5.0, 5.0])).tolist() == [0, 5, 3, 0, 1]
    assert cluster.grid_cluster(places, torch.tensor([5.0, 5.0]), start=torch.tensor([-5.0, -5.0])).tolist() == [5, 11, 9, 5, 6]


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_against_scipy(degree: int) -> None:
    interpolate = pytest.importorskip("scipy.interpolate")
    sizes, is_open = [5, 4], [1, 0]
    pseudo = torch.tensor(np.random.default_rng(0).random((6, 2)), requires_grad=True)
    values, places = splines.spline_basis(pseudo, torch.tensor(sizes), torch.tensor(is_open, dtype=torch.uint8), degree)
    spline = interpolate.BSpline.basis_element(np.arange(degree + 2))
    for point, row, numbers in zip(pseudo.tolist(), values.tolist(), places.tolist()):
        at = [place * (size - degree * own) for place, size, own in zip(point, sizes, is_open)]
        whole = [math.floor(place) for place in at]
        want = [
            (spline(at[0] - whole[0] + degree - first) * spline(at[1] - whole[1] + degree - second),
             (whole[0] + first) % sizes[0] + (whole[1] + second) % sizes[1] * sizes[0])
            for second in range(degree + 1) for first in range(degree + 1)
        ]  # fmt: skip
        assert np.allclose(row, [value for value, _ in want], rtol=1e-12) and numbers == [place for _, place in want]
    assert torch.autograd.gradcheck(lambda one: splines.spline_basis(one, torch.tensor(sizes), torch.tensor(is_open), degree)[0], (pseudo,))


def test_spline_weights_and_convolution() -> None:
    weight, x, root = _leaf(8, 2, 3), _leaf(3, 2, seed=1), _leaf(2, 3, seed=2)
    pseudo = torch.tensor(np.random.default_rng(3).random((4, 2)), requires_grad=True)
    edges, sizes, is_open = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 2]]), torch.tensor([4, 2]), torch.tensor([1, 1], dtype=torch.uint8)
    values, places = splines.spline_basis(pseudo, sizes, is_open, 1)
    terms = [sum(values[edge, one] * (x[edges[1, edge]] @ weight[places[edge, one]]) for one in range(4)) for edge in range(4)]
    means = torch.stack([(terms[0] + terms[1]) / 2, terms[2], terms[3]])
    _same(splines.spline_weighting(x[edges[1]], weight, values, places), torch.stack(terms), x, weight, pseudo)
    _same(splines.spline_conv(x, edges, pseudo, weight, sizes, is_open, 1, True, root, None), means + x @ root, x, weight, pseudo, root)
