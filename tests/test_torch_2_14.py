"""Names of torch 2.14, compared with values that 2.14.1 gave where the torch that is installed is older."""
from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

import mstorch
from tests.against_torch import values

B = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]
WEIGHTS = [[1.0, 5.0], [3.0, 4.0]]


def test_polar():
    A = mstorch.tensor(B, dtype=mstorch.float64, requires_grad=True)
    found = mstorch.linalg.polar(A)
    U, H = found
    np.testing.assert_allclose(values(U @ H), B, rtol=1e-12)
    np.testing.assert_allclose(values(U.mT @ U), np.eye(2), atol=1e-12)
    assert type(found).__name__ == "linalg_polar" and found.U is U and found.H is H
    loss = (U * A.detach().sin()).sum() + (H * mstorch.tensor(WEIGHTS)).sum()
    (gradient,) = mstorch.autograd.grad(loss, A)
    np.testing.assert_allclose(values(gradient), [[2.8742, -0.1658], [3.3286, 1.6691], [1.8411, 5.7061]], atol=1e-4)
    assert mstorch.autograd.gradcheck(lambda x: tuple(mstorch.linalg.polar(x)), A, check_forward_ad=True)
    assert mstorch.autograd.gradgradcheck(lambda x: tuple(mstorch.linalg.polar(x)), A)


def test_matrix_sqrth():
    A = mstorch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=mstorch.float64, requires_grad=True)
    root = mstorch.linalg.matrix_sqrth(A)
    np.testing.assert_allclose(values(root @ root), values(A), rtol=1e-12)
    (gradient,) = mstorch.autograd.grad((root * mstorch.tensor([[1.0, 2], [3, 4]])).sum(), A)
    np.testing.assert_allclose(values(gradient), [[0.2270, 0.8674], [0.8674, 1.8591]], atol=1e-4)
    unit = mstorch.eye(2, requires_grad=True)
    (gradient,) = mstorch.autograd.grad((mstorch.linalg.matrix_sqrth(unit) * mstorch.tensor([[1.0, 2], [3, 4]])).sum(), unit)
    np.testing.assert_allclose(values(gradient), [[0.5, 1.25], [1.25, 2]], atol=1e-6)
    mapped = mstorch.vmap(mstorch.linalg.matrix_sqrth)(mstorch.stack([mstorch.eye(2), 4 * mstorch.eye(2)]))
    np.testing.assert_allclose(values(mapped), [np.eye(2), 2 * np.eye(2)])


@pytest.mark.parametrize(("name", "make", "text"), [
    ("polar", lambda: mstorch.ones(2, 3), "linalg.polar: input must have at least as many rows as columns, but got 2 by 3 matrices"),
    ("polar", lambda: mstorch.ones(3), "linalg.polar: The input tensor A must have at least 2 dimensions."),
    ("polar", lambda: mstorch.ones(2, 2).long(), "linalg.polar: Expected a floating point or complex tensor as input. Got Long"),
    ("matrix_sqrth", lambda: mstorch.ones(2, 3), "linalg.matrix_sqrth: A must be batches of square matrices, but they are 2 by 3 matrices"),
])  # fmt: skip
def test_errors_of_roots(name, make, text):
    with pytest.raises(RuntimeError) as caught:
        getattr(mstorch.linalg, name)(make())
    assert str(caught.value) == text


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_maximizes(search):
    def run(sign, **options):
        x = mstorch.tensor([1.0, -2.0], requires_grad=True)
        optimizer = mstorch.optim.LBFGS([x], lr=0.5, line_search_fn=search, **options)

        def closure():
            optimizer.zero_grad()
            loss = sign * ((x - 3) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return x

    np.testing.assert_array_equal(values(run(1)), values(run(-1, maximize=True)))
    assert "maximize" not in mstorch.optim.LBFGS([mstorch.ones(1)]).state_dict()["param_groups"][0]


@pytest.fixture()
def group(tmp_path):
    dist = mstorch.distributed
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield dist
    dist.destroy_process_group()


def test_collectives(group):
    into = mstorch.zeros(1, 3)
    group.gather_single(mstorch.arange(3.0), into)
    assert into.tolist() == [[0, 1, 2]]
    with pytest.warns(FutureWarning, match="gather_single"):
        group.gather_into_tensor(mstorch.ones(3), into)
    assert into.tolist() == [[1, 1, 1]]
    with pytest.raises(ValueError, match="gather_tensor must be specified on the destination rank"):
        group.gather_single(mstorch.ones(3))
    group.set_timeout(timedelta(seconds=7))
    assert group.get_backend_impl().rank() == 0
    with pytest.raises(ValueError, match="Could not resolve the process group"):
        group.get_backend_impl("none of this name")


class Own:
    """A class that a file of weights may not name."""


def test_objects_that_are_weights_only(group):
    found = [None]
    group.all_gather_object(found, {"a": mstorch.ones(2), "b": 3}, weights_only=True)
    assert found[0]["b"] == 3 and found[0]["a"].tolist() == [1, 1]
    with pytest.raises(Exception, match="Weights only load failed"):
        group.all_gather_object(found, Own(), weights_only=True)
    group.all_gather_object(found, Own())
    assert isinstance(found[0], Own)


def test_factories_of_dtensors(group):
    tensor = mstorch.distributed.tensor
    mesh = mstorch.distributed.init_device_mesh("cpu", (1,))
    made = tensor.linspace(0, mstorch.tensor(2.0), 5, device_mesh=mesh, placements=[tensor.Shard(0)])
    assert made.to_local().tolist() == [0, 0.5, 1, 1.5, 2]
    assert tensor.logspace(0, 2, 3, device_mesh=mesh).full_tensor().tolist() == [1, 10, 100]


def test_checkpoint_decorates():
    @mstorch.utils.checkpoint.checkpoint(use_reentrant=False)
    def function(x):
        runs.append(1)
        return x.sin().exp()

    runs = []
    x = mstorch.ones(2, requires_grad=True)
    function(x).sum().backward()
    assert len(runs) == 2 and x.grad is not None
    np.testing.assert_allclose(values(x.grad), math.cos(1) * math.exp(math.sin(1)), rtol=1e-6)


def test_others():
    assert mstorch.compiler.nonstrict_trace(len) is len
    assert mstorch.compiler.cudagraph_mark_warmup_incomplete() is None
    assert mstorch.accelerator.random.get_rng_state_all() == []
    with pytest.raises(RuntimeError, match="accelerator"):
        mstorch.accelerator.random.initial_seed()
    with pytest.raises(AttributeError, match="bcomplex32"):
        getattr(mstorch, "bcomplex32")  # noqa: B009 - the test is that it raises


def test_wrap_numpy():
    wrapped = mstorch.compiler.wrap_numpy(lambda a, b: {"sum": a + b, "name": "x"})
    found = wrapped(mstorch.ones(2), mstorch.arange(2.0))
    assert found["sum"].tolist() == [1, 2] and found["name"] == "x"


def test_logit_with_bounds_the_wrong_way_round():
    """2.14's samples have eps above one half: what is below eps gets it, all else 1 - eps."""
    for dtype in (mstorch.float32, mstorch.float64, mstorch.bfloat16):
        x = mstorch.tensor([0.1, 0.45, 0.7, 0.9], dtype=dtype)
        assert (mstorch.logit(x, eps=0.6) > 0).tolist() == [True, True, False, False]
        assert mstorch.logit(x, 0.2).argmax() == 3


def test_muon_without_a_clamp():
    """The rate is multiplied by the root of rows by columns, which "original" does not let fall below one."""
    def steps(shape, adjust):
        param = mstorch.nn.Parameter(mstorch.zeros(shape))
        optimizer = mstorch.optim.Muon([param], lr=0.1, weight_decay=0.0, adjust_lr_fn=adjust)
        param.grad = mstorch.arange(float(param.numel())).reshape(shape)
        optimizer.step()
        return values(param)

    np.testing.assert_allclose(steps((4, 16), "spectral_unclamped"), steps((4, 16), "original") / 2, rtol=1e-6)
    np.testing.assert_array_equal(steps((16, 4), "spectral_unclamped"), steps((16, 4), "original"))


def _declaring(kinds, results):
    class Declaring(mstorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            for kind in kinds:
                ctx.set_output_grad_dtype(*kind)
            return results(ctx, x)

        @staticmethod
        def backward(ctx, *gradients):
            seen.append([None if gradient is None else gradient.dtype for gradient in gradients])
            return gradients[0]

    seen = []
    return Declaring, seen


def test_gradients_come_in_the_declared_dtype():
    function, seen = _declaring([(mstorch.float64, mstorch.float16, None)], lambda ctx, x: (x * 2, x * 3, "text"))
    x = mstorch.ones(2, requires_grad=True)
    first, second, _ = function.apply(x)
    (first.sum() + second.sum()).backward()
    assert seen == [[mstorch.float64, mstorch.float16, None]] and x.grad.dtype is mstorch.float32


def _without_gradient(ctx, x):
    second = x * 3
    ctx.mark_non_differentiable(second)
    return x * 2, second


@pytest.mark.parametrize(("kinds", "results", "text"), [
    ([("float64", "float64")], lambda ctx, x: x * 2, "the Function returned 1 values but 2 declarations were provided"),
    ([("float64", "float64")], lambda ctx, x: (x * 2, "text"), "output 1, but that output is not a differentiable tensor"),
    ([("float64", "float64")], _without_gradient, "output 1, but that output is not a differentiable tensor"),
    ([(3,)], lambda ctx, x: x * 2, "expects each declaration to be a torch.dtype or None, but got int"),
    ([("float64",), ("float64",)], lambda ctx, x: x * 2, "set_output_grad_dtype can only be called once"),
])  # fmt: skip
def test_declared_dtypes_that_do_not_fit(kinds, results, text):
    function, _ = _declaring([[getattr(mstorch, kind) if isinstance(kind, str) else kind for kind in one] for one in kinds], results)
    with pytest.raises(RuntimeError) as caught:
        function.apply(mstorch.ones(2, requires_grad=True))
    assert text in str(caught.value)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 exports nothing that is read-only")
def test_read_only_exports():
    x = mstorch.ones(3)
    wrapper = mstorch.utils.dlpack.ReadOnlyTensorWrapper(x)
    array = np.from_dlpack(wrapper)
    x[0] = 5
    assert not array.flags.writeable and array.tolist() == [5, 1, 1]
    for call in (lambda: wrapper + 1, lambda: wrapper.shape, lambda: repr(wrapper)):
        with pytest.raises(RuntimeError, match="only supports DLPack export"):
            call()


def test_default_backend():
    compiler = mstorch.compiler
    assert compiler.get_default_backend() == "inductor"
    compiler.set_default_backend("mindspore")
    try:
        assert mstorch.compile(lambda x: x + 1)(mstorch.ones(2)).tolist() == [2, 2]
        compiler.set_default_backend("nothing")
        with pytest.raises(RuntimeError, match="Invalid backend: 'nothing'"):
            mstorch.compile(len)
    finally:
        compiler.set_default_backend(None)
    assert compiler.get_default_backend() == "inductor" and issubclass(compiler.PrecompileError, RuntimeError)


def test_options_of_compilers():
    config = mstorch.compiler.config
    with config.patch(verbose=True):
        assert config.verbose
    assert not config.verbose and config.compile_on_one_rank is False
    for call in (lambda: config.no_option, lambda: setattr(config, "no_option", 1)):
        with pytest.raises(AttributeError, match=r"torch.compiler.config.no_option does not exist"):
            call()


def test_settings_of_tuned_products(tmp_path):
    from mstorch.cuda import tunable

    before = tunable.get_max_tuning_iterations()
    tunable.set_max_tuning_iterations(-1)
    assert tunable.get_max_tuning_iterations() == 0 and before == 100 and tunable.tuning_is_enabled() and not tunable.is_enabled()
    tunable.set_max_tuning_iterations(before)
    assert tunable.read_file(str(tmp_path / "none")) is False
    for call in (tunable.get_results, tunable.get_validators, lambda: tunable.set_filename("x", True)):
        with pytest.raises(NotImplementedError, match=r"torch.cuda.tunable"):
            call()
