"""Functions that torch writes in C are built-in: they do not bind as methods of a class; copies, pickles and signatures work."""
import copy
import inspect
import pickle
import types

import pytest
import torch as real_torch

import mstorch
from tests import warm
from tests.against_torch import both

FACES = ("", "functional", "nn.functional", "linalg", "fft", "special", "nn.init", "sparse", "masked", "random", "signal.windows")
# A cache written in C, which binds like a function, and functions of torch._C.
APART = {"promote_types", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "parse_schema"}


def _at(library, face):
    for part in face.split(".") if face else ():
        library = getattr(library, part)
    return library


def _functions(face):
    """Return the public functions that both libraries have."""
    theirs, ours = _at(real_torch, face), _at(mstorch, face)
    for name, value in sorted(vars(theirs).items()):
        if name.startswith("_") and not name.startswith("_foreach_") or name in APART:
            continue
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) and hasattr(ours, name):
            yield name, value, getattr(ours, name)


@pytest.mark.parametrize("face", FACES)
def test_what_binds_in_a_class(face):
    seen, wrong = 0, []
    for name, theirs, ours in _functions(face):
        bound = [type("Block", (), {"act": function})().act is not function for function in (theirs, ours)]
        seen += 1
        if bound[0] is not bound[1]:
            wrong.append(name)
    assert not wrong
    assert seen >= {"": 700, "nn.functional": 120}.get(face, 7)


def test_an_activation_as_a_class_attribute():
    def body(t):
        class Block(t.nn.Module):
            act, gelu, norm = t.relu, t.nn.functional.gelu, t.linalg.norm

            def forward(self, x):
                return self.norm(self.gelu(self.act(x)))

        return Block()(t.tensor([-1.0, 2.0, 3.0]))

    both(body)


def test_copies_are_the_function_itself():
    for _, theirs, ours in _functions(""):
        assert copy.copy(ours) is ours and copy.deepcopy(ours) is ours
        assert inspect.isbuiltin(ours) is inspect.isbuiltin(theirs)
    block = mstorch.nn.Module()
    block.act = mstorch.nn.functional.gelu
    assert copy.deepcopy(block).act is mstorch.nn.functional.gelu


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_name_the_function(protocol):
    for face in ("", "nn.functional", "linalg", "fft", "special", "sparse"):
        for name, _, ours in _functions(face):
            if inspect.isbuiltin(ours):
                assert pickle.loads(pickle.dumps(ours, protocol)) is ours, name
    assert pickle.loads(pickle.dumps([len, [].append], protocol))[0] is len


def test_signatures_are_those_of_the_function():
    for face in ("", "nn.functional", "linalg", "fft", "special"):
        for name, _, ours in _functions(face):
            if not inspect.isbuiltin(ours):
                continue
            shown, own = inspect.signature(ours), inspect.signature(ours.__self__)
            assert [(p.name, p.kind) for p in shown.parameters.values()] == [(p.name, p.kind) for p in own.parameters.values()], name
            for parameter in own.parameters.values():
                if isinstance(parameter.default, (int, float, str)) and abs(getattr(parameter.default, "real", 0)) < float("inf"):
                    assert shown.parameters[parameter.name].default == parameter.default, name
    assert str(inspect.signature(mstorch.clamp)) == "(input, min=None, max=None, *, out=None)"
    assert mstorch.sin.__doc__.startswith("Return the sine of each element.\n\nhttps://docs.pytorch.org/") and mstorch.sin.__name__ == "sin"


def test_files_written_by_either_library_name_them(tmp_path):
    real_torch.save([real_torch.relu, real_torch.nn.functional.gelu], tmp_path / "theirs")
    assert mstorch.load(tmp_path / "theirs", weights_only=False) == [mstorch.relu, mstorch.nn.functional.gelu]
    mstorch.save([mstorch.relu, mstorch.nn.functional.gelu], tmp_path / "ours")
    assert mstorch.load(tmp_path / "ours", weights_only=False) == [mstorch.relu, mstorch.nn.functional.gelu]
    assert real_torch.load(tmp_path / "ours", weights_only=False) == [real_torch.relu, real_torch.nn.functional.gelu]


def test_pickles_where_import_torch_gets_this_library():
    code = (
        "import mstorch._src.hook as hook; hook.install(); import pickle, torch\n"
        "for f in (torch.relu, torch.nn.functional.gelu, torch.is_grad_enabled, torch.linalg.inv):\n"
        "    assert f.__module__.startswith('torch') and b'mstorch' not in pickle.dumps(f) and pickle.loads(pickle.dumps(f)) is f, f\n"
    )
    warm.said("-c", code)
