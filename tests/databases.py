"""torch's own test databases, run through mstorch: sample inputs of operators, modules and optimizers.

    python -m tests.databases ops              # the whole sweep; modules, optimizers likewise
    python -m tests.databases ops -k softmax   # only names that contain the text

An item passes when each of its samples (at most six, chosen by a fixed seed) gives torch's values, dtypes, shapes and
gradients. ``tests/test_databases.py`` runs a part of this in the suite.
"""
from __future__ import annotations

import argparse
import functools
import io
import random
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from tests.against_torch import values

# Only torch's compiler and backends use these.
_INTERNAL = re.compile(r"^(_.*|.*_efficient_attention.*|.*_flash_attention.*|torch\.ops\..*|jiterator.*|to_sparse_.*|ops\..*)$")
# Uninitialized memory, random numbers, or factors that are not unique: only shapes and dtypes are compared.
_SHAPES_ONLY = re.compile(
    r"^(empty.*|new_empty.*|resize_|resize_as_|linalg\.(svd|eig|eigh|qr|householder_product|ldl_factor.*)|svd|qr|geqrf|.*_lowrank|lobpcg)$"
)
SAMPLES = 6


class Missing(Exception):
    """Raised if mstorch lacks a name."""


def _named(constant: Any) -> Any:
    name = str(constant).replace("torch.", "")
    if name not in vars(mstorch):
        raise Missing(f"torch.{name}")
    return getattr(mstorch, name)


def ours(value: Any, leaves: list[Any]) -> Any:
    """Return a torch value as mstorch's; tensors that require grad become new leaves."""
    if isinstance(value, torch.Tensor):
        made = _part_of_storage(value) if _is_part(value) else _copied(value)
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return _named(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.nn.Module):
        return _through_file(value)
    return _mapped(value, lambda item: ours(item, leaves))


def _copied(value: torch.Tensor) -> Any:
    plain = value.detach().clone()
    if plain.layout is not torch.strided:
        return _through_file(plain)
    if not plain.numel():  # NumPy's empty arrays have strides of their own
        return mstorch.empty_strided(tuple(plain.shape), plain.stride(), dtype=ours(plain.dtype, []))
    if plain.dtype is torch.bfloat16:
        return mstorch.tensor(plain.float().numpy()).to(mstorch.bfloat16)
    return mstorch.tensor(plain.resolve_conj().numpy())


def _part_of_storage(value: torch.Tensor) -> Any:
    """Return the same part of a storage of the same size, for operators that read beyond their input."""
    return _copied(_whole(value.detach())).as_strided(tuple(value.shape), value.stride(), value.storage_offset())


def _is_part(value: torch.Tensor) -> bool:
    return value.layout is torch.strided and not value.is_conj() and value.untyped_storage().nbytes() > value.nbytes


def _whole(plain: torch.Tensor) -> torch.Tensor:
    """Return the storage of a tensor as a flat tensor."""
    return torch.as_strided(plain, (plain.untyped_storage().nbytes() // plain.element_size(),), (1,), 0)


def _through_file(module: Any) -> Any:
    """Convert a module or a sparse tensor of torch to mstorch's, on the default device, by ``torch.save`` and ``mstorch.load``."""
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return mstorch.load(file, weights_only=False).to(mstorch.get_default_device())


def theirs(value: Any, leaves: list[Any]) -> Any:
    """Return a copy of a torch value; tensors that require grad become new leaves."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        if _is_part(value):
            made = torch.as_strided(_whole(plain).clone(), plain.shape, plain.stride(), plain.storage_offset())
        else:
            made = plain.clone()
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    return _mapped(value, lambda item: theirs(item, leaves))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(change, value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(change, value))
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    return value


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def backward(result: Any) -> None:
    """Run backward from the sum of all results that require grad; of complex results, from the absolute values of their sums."""
    losses = [leaf.sum() for leaf in _flat(result) if getattr(leaf, "requires_grad", False)]
    losses = [loss.abs() if loss.is_complex() else loss for loss in losses]
    if losses:
        sum(losses[1:], losses[0]).backward()


def _compare(want: Any, got: Any, shapes_only: bool, what: str) -> None:
    want, got = list(_flat(want)), list(_flat(got))
    assert len(want) == len(got), f"{what}: {len(want)} results expected, {len(got)} given"
    for w, g in zip(want, got):
        if not isinstance(w, torch.Tensor):
            assert (w is None) == (g is None), f"{what}: None on one side only"
            if w is not None:
                np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-4, atol=1e-5, err_msg=what)
            continue
        assert isinstance(g, mstorch.Tensor), f"{what}: a tensor expected, {type(g).__name__} given"
        assert tuple(w.shape) == tuple(g.shape), f"{what}: shape {tuple(w.shape)} expected, {tuple(g.shape)} given"
        assert str(w.dtype) == str(g.dtype), f"{what}: {w.dtype} expected, {g.dtype} given"
        if not shapes_only:
            np.testing.assert_allclose(values(g), values(w), rtol=1e-4, atol=1e-5, err_msg=what)


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    mstorch.manual_seed(0)


def _loss(result: Any, library: Any) -> Any:
    generator = np.random.RandomState(7)
    total = None
    for leaf in _flat(result):
        if not getattr(leaf, "requires_grad", False):
            continue
        weights = generator.uniform(0.5, 1.5, tuple(leaf.shape)).astype(np.float32)
        term = (leaf * library.tensor(weights)).sum()
        term = term.abs() if "complex" in str(term.dtype) else term
        total = term if total is None else total + term
    return total


def _run_both(
    oracle: Callable[..., Any], function: Callable[..., Any], arguments: tuple[tuple[Any, Any], tuple[Any, Any]],
    leaves: tuple[list[Any], list[Any]], shapes_only: bool, what: str,
) -> None:  # fmt: skip
    (t_args, t_kwargs), (c_args, c_kwargs) = arguments
    _seed()
    want = oracle(*t_args, **t_kwargs)
    _seed()
    got = function(*c_args, **c_kwargs)
    _compare(want, got, shapes_only, what)
    loss = None if shapes_only else _loss(want, torch)
    if loss is None:
        return
    loss.backward()
    mine = _loss(got, mstorch)
    assert mine is not None, f"{what}: the result does not require grad"
    mine.backward()
    for number, (w, g) in enumerate(zip(*leaves)):
        if w.grad is None and g.grad is not None and not values(g.grad).any():
            continue
        _compare(w.grad, g.grad, False, f"{what}: gradient of input {number}")


def _dotted(path: str, root: Any = mstorch) -> Any:
    for part in path.split("."):
        if not hasattr(root, part):
            raise Missing(path)
        root = getattr(root, part)
    return root


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do the same as the database's ``wrapper_set_seed``, for mstorch."""
    state = mstorch.get_rng_state()
    mstorch.manual_seed(42)
    try:
        return op(*args, **kwargs)
    finally:
        mstorch.set_rng_state(state)


def _counterpart(name: str, op: Any) -> Callable[..., Any]:
    """Return mstorch's function for an operator of torch's database."""
    if isinstance(op, functools.partial):
        return functools.partial(_counterpart(name, op.func), *ours(op.args, []), **ours(op.keywords, []))
    if isinstance(op, types.FunctionType) and re.search("common_methods_invocations|opinfo", op.__code__.co_filename):
        names = {**op.__globals__, "torch": mstorch, "wrapper_set_seed": _seeded}
        if "F" in names:
            names["F"] = mstorch.nn.functional
        made = types.FunctionType(op.__code__, names, op.__name__, op.__defaults__, op.__closure__)
        made.__kwdefaults__ = op.__kwdefaults__
        return made
    if isinstance(op, types.MethodDescriptorType):  # torch.cdouble is a dtype, Tensor.cdouble a method
        return _dotted(name, mstorch.Tensor)
    try:
        return _dotted(name)
    except Missing:
        return _dotted(name, mstorch.Tensor)


def _chosen(samples: list[Any]) -> list[Any]:
    return random.Random(0).sample(samples, SAMPLES) if len(samples) > SAMPLES else samples


def check_operator(info: Any) -> None:
    """Raise unless every sample of an operator agrees."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    _seed()
    needs_grad = bool(info.supports_autograd) and kind is torch.float32
    samples = _chosen(list(info.sample_inputs("cpu", kind, requires_grad=needs_grad)))
    function = _counterpart(info.name, info.op)
    for number, sample in enumerate(samples):
        whole = ((sample.input, *sample.args), sample.kwargs)
        leaves: tuple[list[Any], list[Any]] = ([], [])
        arguments = (theirs(whole, leaves[0]), ours(whole, leaves[1]))
        _run_both(info.op, function, arguments, leaves, bool(_SHAPES_ONLY.match(info.name)), f"sample {number}")


def layers(without: str) -> dict[str, Any]:
    """Return the entries of torch's database of modules by name, except those that match a pattern."""
    from torch.testing._internal.common_modules import module_db

    return {info.name: info for info in module_db if not re.search(without, info.name)}


def layer_of(cls: type) -> Any:
    """Return mstorch's class for one of torch's layers."""
    place = cls.__module__.split(".modules")[0].replace("torch.", "", 1)
    return _dotted(f"{place}.{cls.__name__}")


def layer_samples(info: Any, training: bool = False) -> list[Any]:
    """Return the samples of a layer that call it with arguments."""
    _seed()
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training)
    return [one for one in samples if one.forward_input is not None and one.forward_input.args]


def check_module(info: Any) -> None:
    """Raise unless a module agrees: state_dict keys, results, gradients of inputs and parameters."""
    cls = info.module_cls
    mine = layer_of(cls)
    _seed()
    items = list(info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True))
    for number, item in enumerate(_chosen(items)):
        if item.forward_input is None:
            continue
        built, run = item.constructor_input, item.forward_input
        oracle = cls(*built.args, **built.kwargs)
        module = mine(*ours(built.args, []), **ours(built.kwargs, []))
        # As in torch's own tests: a few samples have float64 constructor arguments.
        oracle.to(torch.float32)
        module.to(mstorch.float32)
        if getattr(oracle, "has_uninitialized_params", lambda: False)():
            oracle(*theirs(run.args, []), **theirs(run.kwargs, []))
            module(*ours(run.args, []), **ours(run.kwargs, []))
        state = oracle.state_dict()
        assert list(state) == list(module.state_dict()), f"state_dict keys {list(state)} expected"
        module.load_state_dict({k: ours(v, []) for k, v in state.items() if isinstance(v, torch.Tensor)}, strict=False)
        leaves: tuple[list[Any], list[Any]] = ([], [])
        arguments = (theirs((run.args, run.kwargs), leaves[0]), ours((run.args, run.kwargs), leaves[1]))
        leaves[0].extend(p for p in oracle.parameters() if p.requires_grad)
        leaves[1].extend(p for p in module.parameters() if p.requires_grad)
        _run_both(oracle, module, arguments, leaves, False, f"input {number}")


def check_optimizer(info: Any) -> None:
    """Raise unless an optimizer takes the same five steps with each of its options."""
    name = info.optim_cls.__name__
    mine = _dotted(f"optim.{name}")
    for option in info.optim_inputs_func(device="cpu"):
        options = {k: v for k, v in option.kwargs.items() if k not in ("fused", "capturable", "foreach")}
        results = []
        for library, cls in ((torch, info.optim_cls), (mstorch, mine)):
            arrays = [np.random.RandomState(i).randn(*shape).astype(np.float32) for i, shape in enumerate([(4, 3), (3, 5)])]
            parameters = [library.nn.Parameter(library.tensor(array)) for array in arrays]
            optimizer = cls(parameters, **options)

            def closure(optimizer: Any = optimizer, parameters: Any = parameters) -> Any:
                optimizer.zero_grad()
                loss = sum(((p * (i + 1)) ** 2).mean() + p.sin().sum() * 0.1 for i, p in enumerate(parameters))
                loss.backward()
                return loss

            for _ in range(5):
                if info.step_requires_closure:
                    optimizer.step(closure)
                else:
                    closure()
                    optimizer.step()
            results.append(parameters)
        _compare(*results, False, option.desc)


def operators() -> Iterator[tuple[str, Any]]:
    """Return the public operators of the database, with names that distinguish variants."""
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    # Torch searches the stack twice per list of samples, with its source lines, for a unittest that requests it. There is none, and the
    # the search took more than half of the time of a sweep.
    common_utils.extract_test_fn = core.extract_test_fn = lambda: None
    usual = {torch.float32, torch.int64, torch.bool, torch.complex64}
    for info in op_db:
        if not _INTERNAL.match(info.name) and usual & set(info.dtypes):
            yield info.name + (f".{info.variant_test_name}" if info.variant_test_name else ""), info


def items(kind: str) -> dict[str, Callable[[], None]]:
    """Return the checks of a database by name, in its order."""
    found: dict[str, Callable[[], None]] = {}
    if kind == "ops":
        found = {name: functools.partial(check_operator, info) for name, info in operators()}
    elif kind == "modules":
        from torch.testing._internal.common_modules import module_db

        found = {info.name: functools.partial(check_module, info) for info in module_db}
    else:
        from torch.testing._internal.common_optimizers import optim_db

        for info in optim_db:
            if info.optim_cls.__name__ != "SparseAdam":
                found[info.optim_cls.__name__] = functools.partial(check_optimizer, info)
    return found


def outcome(check: Callable[[], None]) -> str:
    """Return "" if the check passes, else the first line of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check()
        except Missing as missing:
            return f"no such name: {missing}"
        except Exception as error:  # noqa: BLE001 - every failure is a finding
            return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return ""


def print_share(kind: str, checks: dict[str, Callable[[], None]]) -> None:
    """Run checks; print failures and how many pass."""
    passed = 0
    for name, check in checks.items():
        wrong = outcome(check)
        passed += not wrong
        if wrong:
            print(f"{name}: {wrong}", flush=True)
    print(f"{kind}: {passed} of {len(checks)} pass")


def print_sweep(kind: str, program: str | None, checks: dict[str, Callable[[], None]]) -> None:
    """Run ``print_share`` on the checks that the command line selects; ``program`` is the docstring of the module that is run."""
    parser = argparse.ArgumentParser(description=(program or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only names that contain this text")
    options = parser.parse_args()
    print_share(kind, {name: check for name, check in checks.items() if options.k in name})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=("ops", "modules", "optimizers"))
    parser.add_argument("-k", default="", help="only names that contain this text")
    options = parser.parse_args()
    print_share(options.kind, {name: check for name, check in items(options.kind).items() if options.k in name})


if __name__ == "__main__":
    main()
