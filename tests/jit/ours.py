"""Programs that mstorch writes, TorchScript archives and ``.pt2``, loaded and computed by real torch in another process.

The scripts of the tests (the group "own") are among them; what is scripted is also loaded by mstorch.

    python -m tests.jit.ours [GROUP, NAME or KIND…] --path SITE_PACKAGES

mstorch makes each network, traces or exports it, and writes the file and its results of another call; torch loads the file, which needs no package.
Results differ as in ``tests.jit.archives``.
"""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

from tests.jit.archives import NEAR, ROOT, _differs, _wanted, folder_of, leaves_of, parser_of, said_of

KINDS = ("scripted", "traced", "exported")


def _plain(call: Any) -> Any:
    import numpy as np

    if hasattr(call, "detach"):
        return np.asarray(call.detach().numpy())
    if isinstance(call, (list, tuple)):
        return type(call)(map(_plain, call))
    return {key: _plain(item) for key, item in call.items()} if isinstance(call, dict) else call


def _keep(call: Any, compute: Any, path: Path) -> list[Any]:
    """Write a call and its results; return the results."""
    import torch

    torch.save(call, f"{path}.call")  # as it is before the call, which may write to it
    torch.manual_seed(1)
    args, kwargs = call
    with torch.no_grad():
        wanted = [leaf.clone() for leaf in leaves_of(compute(*args, **kwargs))]
    torch.save({"call": torch.load(f"{path}.call", weights_only=False), "wanted": wanted}, f"{path}.numbers")
    Path(f"{path}.call").unlink()
    return wanted


def _write_script(program: Any, call: Any, path: Path) -> str:
    """Write a scripted program, and load it once more. Return what is wrong."""
    import torch

    try:
        torch.jit.save(program, path)
        wanted = _keep(call, program, path)
        kept, own = torch.load(f"{path}.numbers", weights_only=False)["call"], torch.jit.load(path)
        torch.manual_seed(1)
        with torch.no_grad():
            return _differs(leaves_of(own(*kept[0], **kept[1])), wanted, NEAR)
    except Exception as error:  # noqa: BLE001 - which one is what is told
        return said_of(error)


def scripts() -> dict[str, Any]:
    """Return the scripts of the tests, functions of a scripted program and a call, by name."""
    from tests.jit import script_detection, script_layers, script_samples, torchscript_operators, torchscript_samples  # noqa: F401 - some register their own

    others = {name: make for name, make in torchscript_samples.SAMPLES.items() if not name.startswith("traced_")}
    return {**others, **{f"{name} as a script": make for name, make in script_samples.SAMPLES.items()}}


def write_scripts(folder: Path, names: list[str]) -> dict[str, str]:
    """Write scripts of the tests with mstorch, which is imported as torch; return what is wrong by name."""
    import torch

    wrong = {}
    for name in names:
        torch.manual_seed(0)
        try:
            program, args = scripts()[name]()
        except Exception as error:  # noqa: BLE001
            wrong[name] = said_of(error)
            continue
        wrong[name] = _write_script(program, (args, {}), folder / f"own, {name}.scripted")
    return wrong


def _write(kind: str, network: Any, call: Any, other: Any, path: Path) -> str:
    import torch

    if kind == "scripted":
        return _write_script(torch.jit.script(network), other, path)
    try:
        args, kwargs = call
        if kind == "exported":
            torch.export.save(torch.export.export(network, args, kwargs), path)
        elif kwargs and not args:
            torch.jit.save(torch.jit.trace(network, example_kwarg_inputs=kwargs, strict=False), path)
        else:
            torch.jit.save(torch.jit.trace(network, args, strict=False), path)
        _keep(other, network, path)
        return ""
    except Exception as error:  # noqa: BLE001 - which one is what is told
        path.unlink(missing_ok=True)
        return said_of(error)


def write(folder: Path, words: list[str]) -> None:
    """Write all programs with mstorch; print a line for each that it cannot write."""
    import mstorch

    mstorch.install()
    import torch

    from tests.export.networks import awake
    from tests.jit.archive_networks import GROUPS

    warnings.simplefilter("ignore")
    names = [name for name in scripts() if _wanted(words, "own", name, "scripted")]
    told = write_scripts(folder, names)
    count = sum(not wrong for wrong in told.values())
    for name, wrong in told.items():
        if wrong:
            print(f"mstorch cannot write own: {name} (scripted): {wrong}", flush=True)
    for group, networks in GROUPS.items():
        for name, build in networks.items():
            for kind in KINDS:
                if not _wanted(words, group, name, kind):
                    continue
                torch.manual_seed(0)
                try:
                    network, draw = build()
                    network = awake(network)
                    network, call, other = network if hasattr(network, "stays_in_training") else network.eval(), draw(), draw()
                    wrong = _write(kind, network, call, other, folder / f"{group}, {name}.{kind}")
                except Exception as error:  # noqa: BLE001
                    wrong = said_of(error)
                count += not wrong
                if wrong:
                    print(f"mstorch cannot write {group}: {name} ({kind}): {wrong}", flush=True)
    print(f"mstorch wrote {count} files", flush=True)


def _import_classes(path: Path) -> None:
    """Import the modules of the classes that a program's results are made of, without which torch does not load it."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith("models/model.json"))).decode()
    for name in sorted(set(re.findall(r"\btransformers(?:\.\w+)+", text))):
        with contextlib.suppress(ImportError):
            importlib.import_module(name.rpartition(".")[0])


def differs_in_torch(path: Path) -> str:
    """Load and compute a program with torch; return what differs."""
    import torch

    try:
        kept = torch.load(f"{path}.numbers", weights_only=path.suffix != ".scripted")
        args, kwargs = kept["call"]
        if path.suffix == ".exported":
            _import_classes(path)
        with path.open("rb") as file:  # (a path that ends otherwise than in .pt2 is warned of)
            program: Any = torch.export.load(file).module() if path.suffix == ".exported" else torch.jit.load(file)
        torch.manual_seed(1)
        with torch.no_grad():
            return _differs(leaves_of(program(*args, **kwargs)), kept["wanted"], NEAR)
    except Exception as error:  # noqa: BLE001
        return said_of(error)


def read(folder: Path) -> int:
    """Load and compute all with torch; print what differs and the counts, and return how many differ."""
    import torch

    warnings.simplefilter("ignore")
    bad = 0
    for title, suffix in (("scripted", ".scripted"), ("traced", ".traced"), (".pt2", ".exported")):
        paths = sorted(path for path in folder.iterdir() if path.suffix == suffix and Path(f"{path}.numbers").exists())
        good = 0
        for path in paths:
            wrong = differs_in_torch(path)
            good += not wrong
            if wrong:
                print(f"{path.name}: {wrong}", flush=True)
        print(f"{title}: torch {torch.__version__} computes {good} of {len(paths)} files of mstorch equally", flush=True)
        bad += len(paths) - good
    return bad


def main() -> int:
    """Write with mstorch, read with torch; return whether anything differs."""
    parser = parser_of(__doc__, "reads")
    parser.add_argument("--stage")
    given = parser.parse_args()
    folder = folder_of(given)
    sys.path.extend(given.path)
    if given.stage == "write":
        write(folder, given.words)
        return 0
    if given.stage == "scripts":
        import mstorch

        mstorch.install()
        warnings.simplefilter("ignore")
        print("TOLD " + json.dumps(write_scripts(folder, given.words)))
        return 0
    if given.stage == "read":
        from tests.packages.run import _declare_torchvision

        with contextlib.suppress(ImportError):
            _declare_torchvision(importlib.import_module("torch"))  # for packages that import torchvision
        return bool(read(folder))
    code = 0
    for stage, python in (("write", sys.executable), ("read", given.torch)):
        command = [python, "-m", "tests.jit.ours", "--stage", stage, "--folder", str(folder), *given.words]
        paths = [part for path in given.path for part in ("--path", path)]
        code = subprocess.run([*command, *paths], cwd=ROOT, env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
