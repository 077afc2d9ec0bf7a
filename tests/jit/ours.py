"""Programs that mstorch writes, TorchScript archives and ``.pt2``, loaded and computed by real torch in another process.

    python -m tests.jit.ours [GROUP, NAME or KIND…] --path SITE_PACKAGES

mstorch makes each network, traces or exports it, and writes the file and its results of another call; torch loads the file, which needs no package.
Results differ as in ``tests.jit.archives``.
"""
from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.jit.archives import NEAR, ROOT, _differs, _wanted, folder_of, leaves_of, parser_of, said_of

KINDS = ("traced", "exported")


def _plain(call: Any) -> Any:
    import numpy as np

    if hasattr(call, "detach"):
        return np.asarray(call.detach().numpy())
    if isinstance(call, (list, tuple)):
        return type(call)(map(_plain, call))
    return {key: _plain(item) for key, item in call.items()} if isinstance(call, dict) else call


def _write(kind: str, network: Any, call: Any, other: Any, path: Path) -> str:
    import torch

    try:
        args, kwargs = call
        if kind == "exported":
            torch.export.save(torch.export.export(network, args, kwargs), path)
        elif kwargs and not args:
            torch.jit.save(torch.jit.trace(network, example_kwarg_inputs=kwargs, strict=False), path)
        else:
            torch.jit.save(torch.jit.trace(network, args, strict=False), path)
        torch.manual_seed(1)
        args, kwargs = other
        with torch.no_grad():
            wanted = [leaf.clone() for leaf in leaves_of(network(*args, **kwargs))]
        torch.save({"call": other, "wanted": wanted}, f"{path}.numbers")
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
    count = 0
    for group, networks in GROUPS.items():
        for name, build in networks.items():
            for kind in KINDS:
                if not _wanted(words, group, name, kind):
                    continue
                torch.manual_seed(0)
                try:
                    network, draw = build()
                    network, call, other = awake(network).eval(), draw(), draw()
                    wrong = _write(kind, network, call, other, folder / f"{group}, {name}.{kind}")
                except Exception as error:  # noqa: BLE001
                    wrong = said_of(error)
                count += not wrong
                if wrong:
                    print(f"mstorch cannot write {group}: {name} ({kind}): {wrong}", flush=True)
    print(f"mstorch wrote {count} files", flush=True)


def read(folder: Path) -> int:
    """Load and compute all with torch; print what differs and the counts, and return how many differ."""
    import torch

    warnings.simplefilter("ignore")
    bad = 0
    for title, suffix in (("TorchScript", ".traced"), (".pt2", ".exported")):
        paths = sorted(path for path in folder.iterdir() if path.suffix == suffix and Path(f"{path}.numbers").exists())
        good = 0
        for path in paths:
            try:
                kept = torch.load(f"{path}.numbers", weights_only=True)
                args, kwargs = kept["call"]
                with path.open("rb") as file:  # (a path that ends otherwise than in .pt2 is warned of)
                    program: Any = torch.jit.load(file) if suffix == ".traced" else torch.export.load(file).module()
                torch.manual_seed(1)
                with torch.no_grad():
                    wrong = _differs(leaves_of(program(*args, **kwargs)), kept["wanted"], NEAR)
            except Exception as error:  # noqa: BLE001
                wrong = said_of(error)
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
    if given.stage == "read":
        return bool(read(folder))
    code = 0
    for stage, python in (("write", sys.executable), ("read", given.torch)):
        command = [python, "-m", "tests.jit.ours", "--stage", stage, "--folder", str(folder), *given.words]
        paths = [part for path in given.path for part in ("--path", path)]
        code = subprocess.run([*command, *paths], cwd=ROOT, env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
