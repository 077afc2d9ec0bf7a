"""torch.testing._internal.optests: checks of custom operators, made from a package's own tests."""
from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import mstorch as torch

from ... import ops as _ops
from ..._library.opcheck import OpCheckError
from ..._library.tags import Tag
from ...library import opcheck as opcheck
from ...overrides import TorchFunctionMode

_COMPLIANT = "pt2_compliant_tag"
_USUAL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def dontGenerateOpCheckTests(reason: str) -> Callable[[Any], Any]:
    """Return a decorator that leaves a test out of generate_opcheck_tests."""

    def leave_out(function: Any) -> Any:
        function._torch_dont_generate_opcheck_tests = True
        return function

    return leave_out


def _copied(item: Any) -> Any:
    """Return a tensor's copy, a leaf of the graph, with gradients if the tensor has some."""
    return item.detach().clone().requires_grad_(item.requires_grad)


class _Checked(TorchFunctionMode):
    """Runs one of opcheck's tests on each call of an operator of some namespaces; the first error is raised at the end.

    ``states`` says of operators whether their failure is expected ("xfail") or their test left out ("skip").
    """

    def __init__(self, namespaces: Sequence[str], test_util: str, states: Mapping[str, str]) -> None:
        super().__init__()
        self._namespaces, self._test_util, self._states = namespaces, test_util, states
        self._errors: dict[str, list[OpCheckError]] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, _ops.OpOverloadPacket) and len(func.overloads()) == 1:
            func = getattr(func, func.overloads()[0])
        if isinstance(func, _ops.OpOverload) and func.namespace in self._namespaces:
            name = func.name().partition(".")[0]
            copied = torch.utils._pytree.tree_map_only(torch.Tensor, _copied, (args, kwargs))
            result = func(*args, **kwargs)  # an error of arguments is the test's own matter
            if self._states.get(name) != "skip":
                seen = self._errors.setdefault(name, [])
                try:
                    opcheck(func, *copied, test_utils=self._test_util)
                except OpCheckError as error:  # the test goes on, and what it finds itself comes first
                    seen.append(error)
            return result
        return func(*args, **kwargs)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        super().__exit__(kind, value, trace)
        if kind is not None:
            return
        for name, errors in self._errors.items():
            expected = self._states.get(name) == "xfail"
            if errors and not expected:
                raise errors[0]
            if expected and not errors:
                raise OpCheckError(f"{name} passes {self._test_util}, and a failure was expected")


def _of_test(test: Any, name: str, checked: Callable[[], _Checked]) -> Any:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        with checked():
            return test(*args, **kwargs)

    marks = run.__dict__.get("pytestmark")
    if marks and any(mark.name == "opcheck_only_one" for mark in marks):
        run.__dict__["pytestmark"] = [_first_of(mark) for mark in marks]
    run.__name__ = name
    return run


def _first_of(mark: Any) -> Any:
    """Return pytest's mark of parameters with the first value only, but for devices."""
    if mark.name != "parametrize" or mark.args[0] == "device":
        return mark
    return sys.modules["pytest"].mark.parametrize(mark.args[0], (next(iter(mark.args[1])),)).mark


def generate_opcheck_tests(
    testcase: Any, namespaces: Sequence[str], failures_dict_path: str | None = None, additional_decorators: Any = None,
    test_utils: Sequence[str] = _USUAL,
) -> None:  # fmt: skip
    """Add to a class of tests, for each of its tests and of opcheck's, one that checks the operators which the test calls.

    ``failures_dict_path`` is a file of JSON whose ``data`` says of operators and tests whether a failure is expected ("xfail") or the check
    left out ("skip")."""
    told = json.loads(Path(failures_dict_path).read_text())["data"] if failures_dict_path is not None else {}
    decorators = additional_decorators or {}
    for attribute in [name for name in dir(testcase) if name.startswith("test_") and callable(getattr(testcase, name))]:
        test = getattr(testcase, attribute)
        if getattr(test, "_torch_dont_generate_opcheck_tests", False):
            continue
        for util in test_utils:
            name = f"{util}__{attribute}"
            if hasattr(testcase, name):
                raise RuntimeError(f"Tried to autogenerate {name} but {testcase} already has method named {name}")
            own = f"{testcase.__name__}.{name}"
            states = {operator: tests[own]["status"] for operator, tests in told.items() if own in tests}
            run = _of_test(test, name, functools.partial(_Checked, namespaces, util, states))
            for decorate in decorators[name] if name in decorators else ():
                run = decorate(run)
            setattr(testcase, name, run)
    for operator, tests in told.items():
        name = f"test_pt2_compliant_tag_{operator.replace('::', '_')}"
        setattr(testcase, name, _of_tag(operator, [test for test, one in tests.items() if one["status"] == "xfail"]))


def _of_tag(operator: str, failing: list[str]) -> Callable[[Any], None]:
    """Return a test that an operator which fails some tests is not tagged as one that torch.compile can handle."""

    def test(self: Any) -> None:
        space, name = operator.split("::")
        if failing and getattr(Tag, _COMPLIANT) in getattr(getattr(torch.ops, space), name).default.tags:
            raise AssertionError(f"op '{operator}' was tagged with torch.Tag.pt2_compliant_tag but it failed some of its tests ({failing})")

    return test


__all__ = ["OpCheckError", "dontGenerateOpCheckTests", "generate_opcheck_tests", "opcheck"]
