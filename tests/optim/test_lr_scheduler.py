"""Each scheduler compared with torch's: learning rates, momenta and states are equal bit for bit over 50 steps."""

import copy
import math
import warnings

import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)


class Halving:
    """A callable with a state."""

    def __init__(self, factor=0.5):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor ** (epoch / 7)


def _sequential(s, o):
    return s.SequentialLR(
        o,
        [s.LinearLR(o, 0.2, total_iters=4), s.CosineAnnealingLR(o, 11), s.ExponentialLR(o, 0.93)],
        milestones=[6, 21],
    )


def _nested(s, o):
    inner = s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.StepLR(o, 4, 0.7)], milestones=[5])
    return s.SequentialLR(o, [inner, s.ExponentialLR(o, 0.9)], milestones=[17])


SCHEDULERS = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "lambda list": lambda s, o: s.LambdaLR(o, [Halving(), lambda epoch: 1 / (1 + epoch)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, [lambda epoch: 0.97, Halving(0.9)]),
    "step": lambda s, o: s.StepLR(o, 7, 0.3),
    "multistep": lambda s, o: s.MultiStepLR(o, [3, 11, 11, 30], 0.4),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 9),
    "constant default": lambda s, o: s.ConstantLR(o),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.9, 23),
    "linear default": lambda s, o: s.LinearLR(o),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.91),
    "polynomial": lambda s, o: s.PolynomialLR(o, 33, 1.7),
    "polynomial default": lambda s, o: s.PolynomialLR(o),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 13, 1e-3),
    "cosine long": lambda s, o: s.CosineAnnealingLR(o, 100),
    "sequential": _sequential,
    "nested": _nested,
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.StepLR(o, 9)], o),
    "chained default": lambda s, o: s.ChainedScheduler([s.LinearLR(o), s.CosineAnnealingLR(o, 20)]),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=7),
    "cyclic 2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 7, 3, mode="triangular2", base_momentum=0.5),
    "cyclic exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "cyclic scale": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, scale_fn=Halving(), scale_mode="iterations"),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7, eta_min=1e-4),
    "restarts 2": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=51),
    "one cycle 3": lambda s, o: s.OneCycleLR(o, [0.1, 0.3], epochs=17, steps_per_epoch=3, three_phase=True),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, 0.1, 60, pct_start=0.45, anneal_strategy="linear", div_factor=3, cycle_momentum=False
    ),
    "swa": lambda s, o: _swa(s).SWALR(o, 0.001, 12),
    "swa linear": lambda s, o: _swa(s).SWALR(o, [0.001, 0.3], 0, "linear"),
    "swa 3": lambda s, o: _swa(s).SWALR(o, 0.4, 60, "cos"),
    "lambda 3": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.0 if epoch % 3 else 2.0, lambda epoch: 1]),
    "multiplicative 2": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1 + (-0.5) ** epoch),
    "multiplicative 3": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.1 if epoch == 10 else 1),
    "step 2": lambda s, o: s.StepLR(o, 1, 0.9),
    "step 3": lambda s, o: s.StepLR(o, 20, 1.5),
    "multistep 2": lambda s, o: s.MultiStepLR(o, [1, 2, 3, 49]),
    "multistep 3": lambda s, o: s.MultiStepLR(o, [30, 10], 2.0),
    "constant 3": lambda s, o: s.ConstantLR(o, 1.0, 60),
    "linear 3": lambda s, o: s.LinearLR(o, 1.0, 0.0, 70),
    "exponential 2": lambda s, o: s.ExponentialLR(o, 1.01),
    "exponential 3": lambda s, o: s.ExponentialLR(o, 0.1),
    "polynomial 3": lambda s, o: s.PolynomialLR(o, 70, 0.5),
    "cosine 3": lambda s, o: s.CosineAnnealingLR(o, 50, 0.05),
    "sequential 3": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.CosineAnnealingWarmRestarts(o, 5)], milestones=[9]),
    "chained 3": lambda s, o: s.ChainedScheduler([s.PolynomialLR(o, 40), s.MultiStepLR(o, [5, 6])]),
    "restarts 3": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 3, 0.02),
}


def _swa(s):
    return (mstorch if s is mstorch.optim.lr_scheduler else reference).optim.swa_utils


def _optimizer(torch, kind="SGD", tensor=False):
    lrs = [torch.tensor(lr) if tensor else lr for lr in (0.1, 0.35)]
    groups = [{"params": [torch.zeros(1).requires_grad_()], "lr": lr} for lr in lrs]
    return torch.optim.SGD(groups, momentum=0.9) if kind == "SGD" else torch.optim.Adam(groups)


def _seen(optimizer):
    keys = ("lr", "momentum", "betas", "initial_lr")
    return [[_number(group.get(key)) for key in keys] for group in optimizer.param_groups]


def _number(value):
    return value.item() if hasattr(value, "item") else value


def _state(value):
    """Return a state that can be compared: callables by their attributes, tensors as numbers."""
    if isinstance(value, dict):
        return {key: _state(item) for key, item in value.items() if key not in ("_scale_fn_ref", "lr_lambdas")}
    if isinstance(value, (list, tuple)):
        return [_state(item) for item in value]
    return value.__dict__ if isinstance(value, Halving) else _number(value)


def _run(torch, make, kind="SGD", tensor=False, steps=50):
    optimizer = _optimizer(torch, kind, tensor)
    scheduler = make(torch.optim.lr_scheduler, optimizer)
    seen = [_seen(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen.append((_seen(optimizer), [_number(lr) for lr in scheduler.get_last_lr()]))
    return seen, _state(scheduler.state_dict())


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_rates(name, kind):
    mine, theirs = (_run(torch, SCHEDULERS[name], kind) for torch in LIBRARIES)
    assert mine == theirs


@pytest.mark.parametrize("name", SCHEDULERS)
def test_tensor_rates(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = _run(reference, SCHEDULERS[name], tensor=True)
        except (TypeError, RuntimeError, ValueError) as error:
            pytest.skip(f"torch raises {error}")
        mine = _run(mstorch, SCHEDULERS[name], tensor=True)
    for a, b in zip(mine[0], theirs[0], strict=True):
        for x, y in zip(_flat(a), _flat(b), strict=True):
            # float32 arithmetic on tensors may round differently by kernel.
            assert x == y or math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-12), (x, y)


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _flat(item)]
    return [value]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_goes_on(name):
    def body(torch):
        first = _optimizer(torch)
        scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, first)
        for _ in range(11):
            first.step()
            scheduler.step()
        saved = copy.deepcopy((first.state_dict(), scheduler.state_dict()))
        kept = copy.deepcopy(saved[1])
        second = _optimizer(torch)
        other = SCHEDULERS[name](torch.optim.lr_scheduler, second)
        second.load_state_dict(saved[0])
        other.load_state_dict(saved[1])
        seen = []
        for _ in range(20):
            for optimizer, its in ((first, scheduler), (second, other)):
                optimizer.step()
                its.step()
                seen.append(_seen(optimizer))
        assert seen[::2] == seen[1::2]
        return seen, sorted(kept), sorted(saved[1])

    mine, theirs = (body(torch) for torch in LIBRARIES)
    assert mine[0] == theirs[0]
    assert mine[1] == [key for key in theirs[1] if key != "_scale_fn_ref"]


@pytest.mark.parametrize("name", [name for name in SCHEDULERS if name not in ("cyclic scale", "lambda list", "multiplicative")])
@pytest.mark.parametrize("way", [LIBRARIES, LIBRARIES[::-1]], ids=["from mstorch", "to mstorch"])
def test_state_of_the_other_library(name, way):
    def begun(torch):
        optimizer = _optimizer(torch)
        return optimizer, SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)

    def run(optimizer, scheduler):
        seen = []
        for _ in range(25):
            optimizer.step()
            scheduler.step()
            seen.append(_seen(optimizer))
        return seen

    first, second = (begun(torch) for torch in way)
    run(*first)
    for mine, theirs in zip(second, first, strict=True):
        mine.load_state_dict(copy.deepcopy(theirs.state_dict()))
    assert run(*second) == run(*first)


@pytest.mark.parametrize("name", [n for n in SCHEDULERS if n.split()[0] not in ("sequential", "nested", "chained")])
def test_step_to_an_epoch(name):
    def body(torch):
        optimizer = _optimizer(torch)
        scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)
        seen = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in (0, 3, 4, 17, 2, 31):
                optimizer.step()
                scheduler.step(epoch)
                seen.append((_seen(optimizer), scheduler.last_epoch))
        return seen, sorted({str(warning.message)[:60] for warning in caught})

    mine, theirs = (body(torch) for torch in LIBRARIES)
    assert mine == theirs


def test_restarts_at_fractions():
    def body(torch):
        optimizer = _optimizer(torch)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, 2)
        seen = []
        for step in range(60):
            scheduler.step(step / 4)
            seen.append((_seen(optimizer), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch))
        with pytest.raises(ValueError, match="Expected non-negative epoch, but got -1"):
            scheduler.step(-1)
        return seen

    assert body(mstorch) == body(reference)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.05}, {"cooldown": 3}]
)
@pytest.mark.parametrize("min_lr", [0, 0.002, [0.01, 0.02]])
@pytest.mark.parametrize("tensor", [False, True])
def test_plateau(options, min_lr, tensor):
    def body(torch):
        optimizer = _optimizer(torch, tensor=tensor)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, patience=2, min_lr=min_lr, **options
        )
        seen = []
        for step in range(50):
            metric = math.sin(step / 3) / (1 + step)
            scheduler.step(torch.tensor(metric, dtype=torch.float64) if step % 2 else metric)
            seen.append((_seen(optimizer), scheduler.num_bad_epochs, scheduler.in_cooldown, scheduler.best))
        return seen, _state(scheduler.state_dict())

    assert body(mstorch) == body(reference)


def test_resume_from_last_epoch():
    def body(torch, name):
        optimizer = _optimizer(torch)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        make = {
            "StepLR": (4, 0.3),
            "CosineAnnealingLR": (9,),
            "LinearLR": (0.5, 1.0, 8),
            "ExponentialLR": (0.9,),
            "PolynomialLR": (40,),
            "ConstantLR": (0.5, 9),
            "LambdaLR": (lambda e: 0.9**e,),
            "MultiplicativeLR": (lambda e: 0.9,),
            "MultiStepLR": ([8, 9],),
        }[name]
        scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, *make, last_epoch=5)
        seen = [_seen(optimizer)]
        for _ in range(10):
            optimizer.step()
            scheduler.step()
            seen.append(_seen(optimizer))
        return seen

    for name in ("StepLR", "CosineAnnealingLR", "LinearLR", "ExponentialLR", "PolynomialLR", "ConstantLR", "LambdaLR"):
        assert body(mstorch, name) == body(reference, name)
    for name in ("MultiplicativeLR", "MultiStepLR"):
        assert body(mstorch, name) == body(reference, name)


def _error(torch, make):
    try:
        make(torch.optim.lr_scheduler, _optimizer(torch), torch)
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize(
    "make",
    [
        lambda s, o, t: s.StepLR("no", 3),
        lambda s, o, t: s.StepLR(o, 3, last_epoch=2),
        lambda s, o, t: s.LambdaLR(o, [len]),
        lambda s, o, t: s.MultiplicativeLR(o, [1, 2]),
        lambda s, o, t: s.ConstantLR(o, 1.5),
        lambda s, o, t: s.LinearLR(o, 0.0),
        lambda s, o, t: s.LinearLR(o, 0.5, 1.5),
        lambda s, o, t: s.SequentialLR(o, [], []),
        lambda s, o, t: s.SequentialLR(o, [s.StepLR(o, 3)], [1]),
        lambda s, o, t: s.SequentialLR(o, [s.StepLR(o, 3), s.ReduceLROnPlateau(o)], [1]),
        lambda s, o, t: s.SequentialLR(o, [s.StepLR(o, 3), s.StepLR(_optimizer(t), 3)], [1]),
        lambda s, o, t: s.SequentialLR(o, [1], []),
        lambda s, o, t: s.ChainedScheduler([]),
        lambda s, o, t: s.ChainedScheduler([s.StepLR(o, 3), s.ReduceLROnPlateau(o)]),
        lambda s, o, t: s.ReduceLROnPlateau(o, factor=1.0),
        lambda s, o, t: s.ReduceLROnPlateau(o, mode="up"),
        lambda s, o, t: s.ReduceLROnPlateau(o, threshold_mode="up"),
        lambda s, o, t: s.ReduceLROnPlateau(o, min_lr=[1]),
        lambda s, o, t: s.ReduceLROnPlateau(None),
        lambda s, o, t: s.CyclicLR(o, 0.1, 0.2, mode="no"),
        lambda s, o, t: s.CyclicLR(o, [0.1], 0.2),
        lambda s, o, t: s.CyclicLR(t.optim.Rprop([t.zeros(1).requires_grad_()]), 0.1, 0.2),
        lambda s, o, t: s.CosineAnnealingWarmRestarts(o, 0),
        lambda s, o, t: s.CosineAnnealingWarmRestarts(o, 1, 0),
        lambda s, o, t: s.CosineAnnealingWarmRestarts(o, 1, 1, "x"),
        lambda s, o, t: s.OneCycleLR(o, 0.1),
        lambda s, o, t: s.OneCycleLR(o, 0.1, -1),
        lambda s, o, t: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
        lambda s, o, t: s.OneCycleLR(o, 0.1, 10, pct_start=2.0),
        lambda s, o, t: s.OneCycleLR(o, 0.1, 10, anneal_strategy="no"),
        lambda s, o, t: [scheduler.step() for scheduler in [s.OneCycleLR(o, 0.1, 3)] * 9],
    ],
)
def test_errors(make):
    mine, theirs = (_error(torch, make) for torch in LIBRARIES)
    assert theirs is not None
    assert mine == theirs


def test_warnings():
    def messages(torch, make):
        optimizer = _optimizer(torch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make(torch.optim.lr_scheduler, optimizer)
        return [(warning.category.__name__, str(warning.message), warning.filename) for warning in caught]

    def too_early(s, o):
        scheduler = s.StepLR(o, 3)
        scheduler.step()

    def overridden(s, o):
        scheduler = s.StepLR(o, 3)
        o.step = lambda: None
        scheduler.step()

    def get_lr(s, o):
        s.StepLR(o, 3).get_lr()

    def in_order(s, o):
        scheduler = s.StepLR(o, 3)
        o.step()
        scheduler.step()

    for make in (too_early, overridden, in_order):
        assert messages(mstorch, make) == messages(reference, make)
    assert [m[:2] for m in messages(mstorch, get_lr)] == [m[:2] for m in messages(reference, get_lr)]


def test_optimizers_are_freed():
    import gc
    import weakref

    optimizer = _optimizer(mstorch)
    mstorch.optim.lr_scheduler.StepLR(optimizer, 3)
    gone = weakref.ref(optimizer)
    gc.collect()
    gc.disable()
    try:
        del optimizer
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["sequential", "chained"])
def test_names_of_states_have_an_order(both, name):
    """The states of inner schedulers come last."""

    def body(torch):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
        s = torch.optim.lr_scheduler
        parts = [s.ConstantLR(optimizer), s.ExponentialLR(optimizer, 0.9)]
        made = s.SequentialLR(optimizer, parts, milestones=[2]) if name == "sequential" else s.ChainedScheduler(parts)
        return list(made.state_dict())

    both(body)
