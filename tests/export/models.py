"""Networks of torchvision, timm, transformers and examples/models through torch.export, make_fx and FakeTensorMode, against torch's numbers.

    python -m tests.export.models [GROUP or NAME…] --path SITE_PACKAGES   # 20 networks of packages and 5 of examples/models; what differs, and how many do

Real torch makes each network and says what it computes. mstorch makes it with the same numbers, exports, saves, traces and fakes it; another process
of mstorch loads the files. A network that is compared is called with other values than those that it was exported with.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.export.networks import EXAMPLES, GROUPS, awake

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("eager", "export", "make_fx", "fake", "loaded")
RTOL, ATOL = 1e-3, 1e-5


def chosen(words: list[str]) -> list[tuple[str, str]]:
    """Return pairs of a group and a network that the words name; all of the installed groups without words."""
    pairs = [(group, name) for group, networks in GROUPS.items() for name in networks]
    return [pair for pair in pairs if not words or pair[0] in words or pair[1] in words]


def leaves_of(result: Any) -> list[Any]:
    """Return the tensors of a result, in order."""
    import torch
    from torch.utils import _pytree

    return [leaf.detach() for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def made(group: str, name: str) -> tuple[Any, Any, Any]:
    """Return a network in evaluation mode, and two calls of it."""
    import torch

    torch.manual_seed(0)
    network, draw = GROUPS[group][name]()
    return awake(network).eval(), draw(), draw()


def differs(found: Any, wanted: list[Any]) -> str:
    """Return the difference of a result from the expected tensors; "" if there is none."""
    import torch

    found = leaves_of(found)
    if len(found) != len(wanted):
        return f"{len(found)} tensors instead of {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"tensor {number}: {tuple(one.shape)} {one.dtype} instead of {tuple(other.shape)} {other.dtype}"
        if not torch.allclose(one, other, RTOL, ATOL, equal_nan=True):
            return f"tensor {number}: {(one - other).abs().max().item():.1e} apart"
    return ""


def traced(network: Any, call: Any) -> Any:
    """Return the graph that make_fx records of a call, as a function of other calls."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils import _pytree

    leaves, form = _pytree.tree_flatten(call)

    def function(*leaves: Any) -> Any:
        args, kwargs = _pytree.tree_unflatten(list(leaves), form)
        return leaves_of(network(*args, **kwargs))

    graph = make_fx(function)(*leaves)
    return lambda call: graph(*_pytree.tree_leaves(call))


def faked(network: Any, call: Any) -> list[list[Any]]:
    """Return the shapes and dtypes of a network's outputs in FakeTensorMode, which computes nothing."""
    import copy

    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.utils import _pytree

    fake = copy.deepcopy(network)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for module in fake.modules():
            for kept in (module._parameters, module._buffers):
                for key, value in kept.items():
                    if value is not None:
                        kept[key] = mode.from_tensor(value)
        args, kwargs = _pytree.tree_map(mode.from_tensor, call)
        found = leaves_of(fake(*args, **kwargs))
    if not all(isinstance(one, FakeTensor) for one in found):
        raise TypeError("a result is no FakeTensor")
    return [[str(one.dtype), list(one.shape), list(one.stride())] for one in found]


def attempt(function: Callable[[], str]) -> str:
    """Return the text that a step returns, or its error in one line."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - which one is what is told
        places = [f for f in traceback.extract_tb(error.__traceback__) if "/mstorch/" in f.filename or "/torch/" in f.filename]
        where = f" ({Path(places[-1].filename).name}:{places[-1].lineno})" if places else ""
        return f"{type(error).__name__}: {str(error).strip()}".replace("\n", " ")[:300] + where


def by_torch(group: str, name: str, folder: Path) -> dict[str, str]:
    """Write torch's results, and report what torch itself cannot do."""
    import torch

    network, example, other = made(group, name)
    with torch.no_grad():
        result = network(*other[0], **other[1])
    wanted = leaves_of(result)
    kept: dict[str, Any] = {"state": network.state_dict(), "example": example, "other": other, "wanted": wanted, "fake": None, "home": type(result).__module__}

    def export() -> str:
        program = torch.export.export(network, *example)
        return differs(program.module()(*other[0], **other[1]), wanted)

    def fake() -> str:
        kept["fake"] = faked(network, other)
        return ""

    told = {"export": attempt(export), "make_fx": attempt(lambda: differs(traced(network, example)(other), wanted)), "fake": attempt(fake)}
    torch.save(kept, folder / f"{name}.numbers")
    return told


def by_mstorch(group: str, name: str, folder: Path) -> dict[str, str]:
    """Compute the same, and save the exported program."""
    import torch

    kept = torch.load(folder / f"{name}.numbers", weights_only=False)
    network, _, _ = made(group, name)
    network.load_state_dict(kept["state"])
    example, other, wanted = kept["example"], kept["other"], kept["wanted"]

    def eager() -> str:
        with torch.no_grad():
            return differs(network(*other[0], **other[1]), wanted)

    def export() -> str:
        program = torch.export.export(network, *example)
        said = differs(program.module()(*other[0], **other[1]), wanted)
        torch.export.save(program, folder / f"{name}.program")
        return said

    def fake() -> str:
        found = faked(network, other)
        return "" if kept["fake"] in (None, found) else f"{found} instead of {kept['fake']}"

    return {
        "eager": attempt(eager), "export": attempt(export), "make_fx": attempt(lambda: differs(traced(network, example)(other), wanted)),
        "fake": attempt(fake),
    }  # fmt: skip


def by_reader(group: str, name: str, folder: Path) -> dict[str, str]:
    """Compute the same with the saved program only."""
    import torch

    def loaded() -> str:
        if not (folder / f"{name}.program").exists():
            return "no file"
        kept = torch.load(folder / f"{name}.numbers", weights_only=False)
        importlib.import_module(kept["home"])  # torch must also be able to import a class of the package that is returned
        args, kwargs = kept["other"]
        return differs(torch.export.load(folder / f"{name}.program").module()(*args, **kwargs), kept["wanted"])

    return {"loaded": attempt(loaded)}


def stage(library: str, words: list[str], folder: Path) -> None:
    """Run all networks in one of the three processes, and report each in a line."""
    if library != "torch":
        import mstorch

        mstorch.install()
    import torch

    if library == "torch":
        from tests.packages.run import _declare_torchvision

        _declare_torchvision(torch)
    warnings.simplefilter("ignore")
    does = {"torch": by_torch, "mstorch": by_mstorch, "reader": by_reader}[library]
    for group, name in chosen(words):
        print(f"TOLD {json.dumps([group, name, does(group, name, folder)])}", flush=True)


def stages(module: str, libraries: tuple[str, ...], words: list[str], paths: list[str]) -> Iterator[tuple[str, str, str, Any]]:
    """Run a module's stages, each library in a process; yield the library, the group and name of a network, and its report."""
    inherited = os.environ.get("PYTHONPATH")
    quiet = {"HF_HUB_OFFLINE": "1", "GLOG_v": "3", "TOKENIZERS_PARALLELISM": "false"}
    environment = {**os.environ, **quiet, "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])])}
    with tempfile.TemporaryDirectory() as folder:
        for library in libraries:
            command = [sys.executable, "-m", module, "--stage", library, "--folder", folder, *words]
            command += [part for path in paths for part in ("--path", path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
            lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
            for line in lines:
                group, name, said = json.loads(line[5:])
                yield library, group, name, said
            if done.returncode:
                raise RuntimeError(f"{library} after {len(lines)} networks: {done.stderr[-2000:]}")


def run(words: list[str], paths: list[str]) -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """Return the reports of each library on each step, by network."""
    told: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for library, group, name, said in stages("tests.export.models", ("torch", "mstorch", "reader"), words, paths):
        told.setdefault((group, name), {})[library] = said
    return told


def failures(told: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the steps of a network that work in torch and not in mstorch."""
    of_torch = told["torch"]
    ours = {**told["mstorch"], **told["reader"]}
    return {step: ours[step] for step in STEPS if ours[step] and not of_torch.get("export" if step == "loaded" else step, "")}


def main() -> int:
    """Print a line for each network and the counts; return the number of those that fail."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--path", action="append", default=[], help="a folder of installed packages")
    parser.add_argument("--stage")
    parser.add_argument("--folder")
    options = parser.parse_args()
    sys.path.extend(options.path)
    sys.path.insert(1, str(EXAMPLES))
    if options.stage:
        stage(options.stage, options.words, Path(options.folder))
        return 0
    missing = [group for group in GROUPS if group != "examples" and importlib.util.find_spec(group) is None]
    pairs = [pair for pair in chosen(options.words) if pair[0] not in missing]
    print(f"not installed: {', '.join(missing)}" if missing else f"{len(pairs)} networks")
    told = run([name for _, name in pairs], options.path)
    bad = 0
    for (group, name), said in told.items():
        wrong = failures(said)
        beyond = [step for step, text in said["torch"].items() if text]
        print(f"{group}: {name}: {'; '.join(f'{step}: {text}' for step, text in wrong.items()) or 'equal'}"
              + (f" (torch fails: {', '.join(beyond)}: {said['torch'][beyond[0]]})" if beyond else ""))  # fmt: skip
        bad += bool(wrong)
    for step in STEPS:
        of_torch = [not said["torch"].get("export" if step == "loaded" else step, "") for said in told.values()]
        good = sum(not {**said["mstorch"], **said["reader"]}[step] for said in told.values())
        print(f"{step}: {good} of {len(told)}; torch {sum(of_torch)}")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(), 1))
