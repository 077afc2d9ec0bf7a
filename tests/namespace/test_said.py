"""Where `import torch` gets mstorch, public names say what torch's say: module, qualified name, the text of a class."""
import importlib
import json
import pkgutil
import subprocess
import sys
import types
import warnings

import pytest
import torch as real_torch

# Names that go by another name there, or are of parts of torch that this library has not.
HOMES_THERE_ALONE = ("torch._", "torch.xpu.", "torch.mtia.", "torch.mps.")
NOT_WALKED = (
    "torch._", "torch.testing._internal", "torch.ao", "torch.onnx", "torch.package", "torch.export", "torch.distributed.elastic", "torch.jit",
    "torch.distributed.rpc", "torch.distributed.benchmarks", "torch.distributed.pipelining", "torch.utils.tensorboard", "torch.fx.passes",
    "torch.fx.experimental", "torch.quantization", "torch.nn.quanti", "torch.nn.intrinsic", "torch.nn.qat", "torch.utils.benchmark",
    "torch.utils.data.datapipes", "torch.utils.data.graph", "torch.utils.viz", "torch.utils.hipify", "torch.utils.bottleneck",
    "torch.utils.model_dump", "torch.masked.maskedtensor", "torch.distributed.flight_recorder",
)  # fmt: skip
# Aliases, whose own names differ from those that torch's have.
ALIASES = {
    "celu_", "selu_", "threshold_", "rrelu_", "promote_types", "norm_except_dim", "randperm", "from_dlpack", "map_arg", "Future",
    "sum", "Identity", "cat", "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent", "stack",
    "integer_interval", "interval", "less_than", "multinomial", "CUDAExtension", "CppExtension", "SyclExtension", "include_paths",
    "library_paths", "load", "load_inline", "native_channel_shuffle", "tqdm",
}  # fmt: skip

SCRIPT = """
import importlib, inspect, json, sys, types, warnings
warnings.simplefilter("ignore")
import mstorch._hook as hook
hook.install()
found = {}
for place in json.load(sys.stdin):
    try:
        module = importlib.import_module(place)
    except ImportError:
        continue
    found[place] = {"": [module.__name__]}
    for name, value in list(vars(module).items()):
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and not name.startswith("_"):
            said = [getattr(value, "__module__", None), value.__qualname__, repr(value) if isinstance(value, type) else ""]
            found[place][name] = said
json.dump(found, sys.stdout)
"""


def _walked():
    found, waiting = ["torch"], [(real_torch, "torch.")]
    while waiting:
        package, prefix = waiting.pop()
        for item in pkgutil.iter_modules(package.__path__):
            name = prefix + item.name
            if item.name.startswith("_") or name.startswith(NOT_WALKED):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    module = importlib.import_module(name)
                except Exception:  # noqa: BLE001 - a part of torch that needs what is not installed
                    continue
            found.append(name)
            if item.ispkg and hasattr(module, "__path__"):
                waiting.append((module, name + "."))
    return found


@pytest.fixture(scope="module")
def said():
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=json.dumps(_walked()), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _both(said):
    """Each public name that both have: its place, its name, torch's object, what ours says."""
    for place, names in said.items():
        module = sys.modules[place]
        for name, ours in names.items():
            theirs = vars(module).get(name)
            if isinstance(theirs, (type, types.FunctionType, types.BuiltinFunctionType)) and str(theirs.__module__).startswith("torch"):
                yield place, name, theirs, ours


def test_modules_have_torchs_names(said):
    assert len(said) > 200
    assert {place: names[""][0] for place, names in said.items() if names[""][0] != place} == {}


def test_classes_and_functions_are_of_torchs_modules(said):
    wrong, seen = [], 0
    for place, name, theirs, (module, _, shown) in _both(said):
        if module.startswith("mstorch") and name not in ALIASES:
            wrong.append((place, name, module))
        home = theirs.__module__
        if home not in said and home != "torch._C" or home.startswith(HOMES_THERE_ALONE) or name not in said[home] or name in ALIASES:
            continue  # torch has it in a file that is not here
        seen += 1
        if module != home or isinstance(theirs, type) and shown.startswith("<class") and shown != repr(theirs):
            wrong.append((place, name, home, module, shown))
    assert not wrong, "\n".join(map(str, wrong))
    assert seen > 2500


def test_qualified_names_end_as_torchs_do(said):
    wrong = []
    for place, name, theirs, (_, qualified, _) in _both(said):
        last = theirs.__qualname__.rpartition(".")[2]
        if last == name != qualified.rpartition(".")[2] and name not in ALIASES:
            wrong.append((place, name, theirs.__qualname__, qualified))
    assert not wrong, "\n".join(map(str, wrong))


def test_pickles_of_what_goes_by_a_name_of_torchs():
    script = (
        "import mstorch._hook as hook; hook.install(); import pickle, torch, torch.nn.utils.prune as prune\n"
        "import torch.distributed.checkpoint, torch.cuda.memory, torch.distributions.transforms\n"
        "for item in (torch.save, torch.nn.init.xavier_uniform_, torch.Generator, torch.optim.Adam, torch.nn.Linear, torch.Size,\n"
        "             torch.cuda.memory_allocated, prune.l1_unstructured, torch.utils.data.DataLoader, torch.distributions.AffineTransform,\n"
        "             torch.signal.windows.hann, torch.masked.sum, torch.func.functional_call, torch.testing.assert_close, torch.linalg.inv):\n"
        "    written = pickle.dumps(item)\n"
        "    assert b'mstorch' not in written and pickle.loads(written) is item, item\n"
        "hook.uninstall(); import mstorch\n"
        "assert mstorch.save.__module__ == 'mstorch.serialization' and mstorch.nn.init.__name__ == 'mstorch.init', mstorch.save\n"
        "assert pickle.loads(pickle.dumps(mstorch.save)) is mstorch.save\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_tensor_says_that_it_is_torchs():
    script = (
        "import mstorch._hook as hook; hook.install(); import torch\n"
        "assert type(torch.ones(2)).__module__ == 'torch' and repr(torch.Tensor) == \"<class 'torch.Tensor'>\"\n"
        "assert torch.Generator.__module__ == 'torch._C' and torch.nn.Parameter.__module__ == 'torch.nn.parameter'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
