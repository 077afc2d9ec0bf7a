"""With mstorch as `import torch`, names are torch's: modules, qualified names, reprs of classes, pickles; private ones too."""
import json
import pickle
import sys
import warnings
from importlib import import_module

import pytest

from tests import warm
from tools import homes

pytestmark = pytest.mark.sweep

# Names that differ from torch's, by kind of difference.
KNOWN = {
    "an inner function of ours in a private place, where torch has the public one": (
        "sym_sqrt from_dlpack randperm shape_as_tensor _segment_reduce is_grad_enabled TreeSpec tree_flatten tree_unflatten boolean_dispatch to_dlpack"
    ),
    "in-place forms that torch.nn.functional has of its own here": "celu_ selu_ threshold_",
    "the call of a Module, which is a Cell's too": "_orig_module_call",
    "a package that torch carries a copy of": "Version InvalidVersion",
    "a stand-in of torch's own": "tqdm KeyEntry _disable_dynamo ScriptFunction optimize optimize_assert threshold",
    "wrapped anew, with the name of what it wraps": "combine_state_for_ensemble make_functional make_functional_with_buffers _broadcast_to_and_flatten",
    "compiled in torch's builds for GPUs": "_is_in_bad_fork",
    "one function here, two in torch": "_rebuild_xla_tensor _rebuild_device_tensor_from_numpy clip_grads_with_norm_ get_total_norm",
}  # fmt: skip
# Pickles of these refer to another function: one object here has several names in torch, or is the form of one of torch's bindings.
OF_SEVERAL = frozenset((
    "get_debug_level map_arg native_channel_shuffle digamma free_unbacked_symbols guard_or_true guard_size_oblivious statically_known_true "
    "isinstance CUDAExtension CppExtension SyclExtension include_paths library_paths load"
).split())  # fmt: skip
_KNOWN = {name for names in KNOWN.values() for name in names.split()}

SCRIPT = """
import importlib, inspect, json, pickle, sys, types, warnings
warnings.simplefilter("ignore")
import mstorch._src.hook as hook
hook.install()
from tools import homes
found = {}
for place in [*homes.modules("mstorch"), *(f"torch._C.{room}" for room in homes.ROOMS)]:
    try:
        module = importlib.import_module(place)
    except ImportError:
        continue
    found[place] = {"": [module.__name__]}
    for name in sorted({*vars(module), *homes.lazily(module)}):
        value = getattr(module, name, None)
        if homes.named(value) and not name.startswith("__"):
            try:
                read = pickle.loads(pickle.dumps(value)) is value
            except Exception:
                read = False
            said = [getattr(value, "__module__", None), value.__qualname__, value.__name__, repr(value) if isinstance(value, type) else "",
                    type(value).__name__, id(value), read]
            found[place][name] = said
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def said():
    return json.loads(warm.said("-c", SCRIPT))


@pytest.fixture(scope="module")
def pairs(said):
    """Yield each name that both libraries have: its namespace, its name, torch's object, torch's module and name for it, and mstorch's."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, names in said.items():
            try:
                module = sys.modules[place] if place in sys.modules else import_module(place)
            except Exception:  # noqa: BLE001  # a module of ours alone, or a part of torch that needs what is not installed
                continue
            for name, ours in names.items():
                theirs = vars(module).get(name)
                if name and homes.named(theirs) and str(theirs.__module__).partition(".")[0] == "torch":
                    found.append((place, name, theirs, homes.says(theirs), ours))
    return found


def test_modules_have_torchs_names(said, pairs):
    assert len(said) > 400
    public = {place: names[""][0] for place, names in said.items() if "._" not in place and place in sys.modules}
    assert {place: name for place, name in public.items() if name != place} == {}


def test_classes_and_functions_say_what_torchs_say(pairs):
    groups = {}
    for _, _, _, told, ours in pairs:
        groups.setdefault(ours[5], set()).add(told)
    wrong, seen, by_kind = [], 0, {"one object here, several in torch": 0, "a name by which torch itself does not find it": 0}
    for place, name, theirs, told, (module, qualified, own, shown, kind, number, _) in pairs:
        ours = module, own if kind == "builtin_function_or_method" else qualified
        if ours == told:
            seen += 1
            if shown.startswith("<class") and isinstance(theirs, type) and shown != repr(theirs):
                wrong.append((place, name, repr(theirs), shown))
        elif ours in groups[number]:
            by_kind["one object here, several in torch"] += 1
        elif name in _KNOWN:
            pass
        elif homes.finds(*told) is not theirs:
            by_kind["a name by which torch itself does not find it"] += 1
        else:
            wrong.append((place, name, told, ours))
    assert not wrong, "\n".join(map(str, wrong))
    assert seen > 5000, by_kind


def test_pickles_contain_torchs_names(pairs):
    """Objects that torch pickles by name are pickled under the same name, and loaded as themselves."""
    wrong, seen = [], 0
    for place, name, theirs, told, (module, *_, read) in pairs:
        if name not in _KNOWN and homes.finds(*told) is theirs:
            seen += 1
            if not read or not module.startswith("torch"):
                wrong.append((place, name, told, module, read))
    assert not wrong, "\n".join(map(str, wrong))
    assert seen > 5000


def _is_written(value):
    try:
        return pickle.loads(pickle.dumps(value)) is value
    except Exception:  # noqa: BLE001  # torch has put another function in its place since
        return False


def test_files_of_either_library_name_them(pairs, tmp_path):
    """torch reads files that are written where `import torch` imports mstorch, and the reverse."""
    names = sorted({(place, name) for place, name, theirs, told, ours in pairs if "._" not in place and not name.startswith("_")
                    and name not in _KNOWN and homes.finds(*told) is theirs and _is_written(theirs)})  # fmt: skip
    names = [(place, name) for place, name in names if _is_written(getattr(sys.modules[place], name))]
    (tmp_path / "names").write_text(json.dumps(names))
    theirs = [getattr(sys.modules[place], name) for place, name in names]
    (tmp_path / "theirs").write_text(json.dumps([pickle.dumps(one).hex() for one in theirs]))
    script = (
        "import mstorch._src.hook as hook; hook.install()\nimport importlib, json, pickle, sys, warnings\nwarnings.simplefilter('ignore')\n"
        "from pathlib import Path\nfolder = Path(sys.argv[1])\n"
        "ours = [getattr(importlib.import_module(place), name) for place, name in json.loads((folder / 'names').read_text())]\n"
        "(folder / 'ours').write_bytes(pickle.dumps(ours))\n"
        "def read(text):\n    try:\n        return pickle.loads(bytes.fromhex(text))\n    except AttributeError as error:\n        return error\n"
        "theirs = map(read, json.loads((folder / 'theirs').read_text()))\n"
        "print(json.dumps([i for i, (one, other) in enumerate(zip(theirs, ours)) if one is not other]))\n"
    )
    indices = json.loads(warm.said("-c", script, str(tmp_path)))
    ours = pickle.loads((tmp_path / "ours").read_bytes())
    wrong = [("theirs", *names[i]) for i in indices]
    wrong += [("ours", *name) for name, one, other in zip(names, ours, theirs) if one is not other and one.__name__ != other.__name__]
    wrong = [row for row in wrong if row[-1] not in OF_SEVERAL]
    assert not wrong, "\n".join(map(str, wrong))
    assert len(names) > 3000


def test_the_way_back():
    script = (
        "import mstorch._src.hook as hook; hook.install(); import pickle, torch\nhook.uninstall(); import mstorch\n"
        "assert mstorch.save.__module__ == 'mstorch.serialization' and mstorch.nn.init.__name__ == 'mstorch.init', mstorch.save\n"
        "assert mstorch.nn.Linear.forward.__module__ == 'mstorch.nn.modules.linear' and mstorch.linalg.inv.__module__ == 'mstorch._C._linalg'\n"
        "for item in (mstorch.save, mstorch.linalg.inv, mstorch.nn.Linear, mstorch.nn.Linear.forward, mstorch.Tensor.add):\n"
        "    assert pickle.loads(pickle.dumps(item)) is item\n"
    )
    warm.said("-c", script)


@pytest.mark.long
def test_the_table_is_current():
    warm.said("-m", "tools.homes", "--check")
