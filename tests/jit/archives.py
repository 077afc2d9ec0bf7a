"""Programs that real torch writes to files, TorchScript archives and ``.pt2``, read and computed by mstorch in another process.

    python -m tests.jit.archives [GROUP, NAME or KIND…] --path SITE_PACKAGES      # of packages, of examples/models, and those of the tests' samples
    python -m tests.jit.archives --torch PYTHON --folder FOLDER --write           # another torch writes, and the folder is kept …
    python -m tests.cann python -m tests.jit.archives --folder FOLDER --device npu --read 10    # … and read on a device

A kind is "scripted", "traced" or "exported". A network that is compared is called with other values than those that it was written with. Results
differ if an element is more than 1e-5 of its array's largest number (at least 1) apart, gradients if it is more than 1e-4; where rounding
makes more (sums that cancel out, normalization of a few pixels) they may lie twice as far from torch's in double precision as torch's own.
"""
from __future__ import annotations

import argparse
import copy
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("scripted", "traced", "exported")
NEAR, NEAR_OF_GRADIENTS = 1e-5, 1e-4
BIGGEST = 3_000_000
"""Elements of parameters up to which gradients are compared."""


def leaves_of(value: Any) -> list[Any]:
    """Return the tensors of a result in order, of dicts, sequences and outputs of transformers."""
    if hasattr(value, "detach"):
        return [value]
    if hasattr(value, "keys"):
        return [leaf for key in value.keys() for leaf in leaves_of(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves_of(item)]
    return []


def loss_of(leaves: list[Any]) -> Any:
    """Return a number that depends on all differentiable results; None if there is none."""
    parts = [(leaf * leaf).mean() + leaf.sum() / leaf.numel() for leaf in leaves if leaf.requires_grad and leaf.numel() and not leaf.is_complex()]
    return sum(parts) if parts else None


def said_of(error: BaseException) -> str:
    """Return an exception in one line, with the place in the library where it was raised."""
    places = [f for f in traceback.extract_tb(error.__traceback__) if "/mstorch/" in f.filename or "/torch/" in f.filename]
    where = f" ({Path(places[-1].filename).name}:{places[-1].lineno})" if places else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:150]}{' … ' + text[-250:] if len(text) > 400 else text[150:]}{where}"


def _programs(kind: str, network: Any, call: Any) -> Any:
    """Return a network's program, scripted, traced or exported."""
    import torch

    args, kwargs = call
    if kind == "exported":
        return torch.export.export(network, args, kwargs)
    if kind == "scripted":
        return torch.jit.script(network)
    if kwargs and not args:
        return torch.jit.trace(network, example_kwarg_inputs=kwargs, check_trace=False, strict=False)
    return torch.jit.trace(network, args, check_trace=False, strict=False)


def _write(title: str, kind: str, make: Callable[[], Any], call: Any, folder: Path) -> str:
    """Write a program and torch's numbers. Return why torch cannot; "" if it can."""
    import torch

    file, kept = io.BytesIO(), io.BytesIO()
    try:
        program = make()
        (torch.export if kind == "exported" else torch.jit).save(program, file)
        file.seek(0)
        program = torch.export.load(file).module() if kind == "exported" else torch.jit.load(file)
        torch.save(call, kept)  # as it is before the program, which may write to it
        args, kwargs = copy.deepcopy(call)
        torch.manual_seed(1)
        with torch.no_grad():
            wanted = [leaf.clone() for leaf in leaves_of(program(*args, **kwargs))]
    except Exception as error:  # noqa: BLE001 - which one is what is told
        return said_of(error)
    grads: dict[str, Any] = {}
    exact: dict[str, Any] = {}
    if sum(parameter.numel() for parameter in program.parameters()) <= BIGGEST:
        try:
            args, kwargs = copy.deepcopy(call)
            torch.manual_seed(1)
            loss = loss_of(leaves_of(program(*args, **kwargs)))
            if loss is not None and bool(loss.isfinite()):
                loss.backward()
                grads = {name: one.grad for name, one in program.named_parameters() if one.grad is not None}
        except (RuntimeError, NotImplementedError):
            grads = {}  # (torch has no backward here)
    certain: list[Any] = []
    if kind != "exported":
        file.seek(0)
        certain, exact = _in_double_precision(torch.jit.load(file), call, bool(grads))
    (folder / f"{title}.{kind}").write_bytes(file.getvalue())
    kept.seek(0)
    torch.save({"call": torch.load(kept, weights_only=False), "wanted": wanted, "grads": grads, "exact": exact, "certain": certain}, folder / f"{title}.{kind}.numbers")
    return ""


def _in_double_precision(program: Any, call: Any, differentiate: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the results and gradients of an archive in double precision; none if its text holds another one."""
    import torch

    args, kwargs = _in_double(copy.deepcopy(call))
    try:
        torch.manual_seed(1)
        results = leaves_of(program.double()(*args, **kwargs))
        if differentiate:
            loss_of(results).backward()
    except Exception:  # noqa: BLE001 - also exceptions of scripts, which have a class of their own
        return [], {}
    return [one.detach() for one in results], {name: one.grad for name, one in program.named_parameters() if one.grad is not None}


def _in_double(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_in_double, value)) if not hasattr(value, "_fields") else value
    return {key: _in_double(item) for key, item in value.items()} if isinstance(value, dict) else value


def _samples() -> list[tuple[str, str, str, Callable[[], tuple[Any, Any]]]]:
    """Return the samples of the tests, which are programs already: group, name, kind, and a function of program and call."""
    from tests.export import pt2_samples
    from tests.jit import torchscript_operators, torchscript_samples  # noqa: F401 - the former registers its own

    listed = []
    for name, make in torchscript_samples.SAMPLES.items():
        listed.append(("own", name, "traced" if name.startswith("traced_") else "scripted", make))
    for name, make in pt2_samples.SAMPLES.items():
        listed.append(("own", name, "exported", make))
    return listed


def _wanted(words: list[str], *titles: str) -> bool:
    """Return whether words name a program: each word that is a kind, and one of the others."""
    kinds = [word for word in words if word in KINDS]
    others = [word for word in words if word not in KINDS]
    return (not kinds or titles[-1] in kinds) and (not others or any(title in others for title in titles))


def write(folder: Path, words: list[str]) -> None:
    """Write all programs with real torch; print a line for each."""
    import torch

    if "torchvision" not in sys.modules and not hasattr(torch.ops.torchvision, "nms"):
        try:
            import torchvision  # noqa: F401 - with its own operators, if its compiled part fits this torch
        except Exception:  # noqa: BLE001
            sys.modules.pop("torchvision", None)
            from tests.packages.run import _declare_torchvision

            _declare_torchvision(torch)
    from tests.export.networks import awake
    from tests.jit.archive_networks import GROUPS

    warnings.simplefilter("ignore")
    for group, name, kind, make in _samples():
        if _wanted(words, group, name, kind):
            torch.manual_seed(0)
            program, call = make()
            call = ((call[0] if kind == "exported" else call), {})
            print("TOLD " + json.dumps([group, name, kind, _write(f"{group}, {name}", kind, lambda program=program: program, call, folder)]), flush=True)  # type: ignore[misc]
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
                except Exception as error:  # noqa: BLE001
                    print("TOLD " + json.dumps([group, name, kind, said_of(error)]), flush=True)
                    continue
                print("TOLD " + json.dumps([group, name, kind, _write(f"{group}, {name}", kind, partial(_programs, kind, network, call), other, folder)]), flush=True)


def _differs(found: list[Any], wanted: list[Any], near: float) -> str:
    """Return the difference of tensors from the expected ones; "" if there is none."""
    if len(found) != len(wanted):
        return f"{len(found)} tensors instead of {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted)):
        one, other = one.detach().cpu(), other.detach()
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"tensor {number}: {tuple(one.shape)} {one.dtype} instead of {tuple(other.shape)} {other.dtype}"
        if not one.numel():
            continue
        if not one.is_floating_point() and not one.is_complex():
            if not (one == other).all():
                return f"tensor {number}: {int((one != other).sum())} of {one.numel()} numbers differ"
            continue
        unlike = ~((one == other) | (one.isnan() & other.isnan()))
        if unlike.any():
            apart = (one - other)[unlike].abs().max().item()
            finite = other[other.isfinite()].abs()
            largest = max(1.0, finite.max().item() if finite.numel() else 1.0)
            if not apart <= near * largest:
                return f"tensor {number}: {apart:.1e} apart, where {largest:.1e} is the largest"
    return ""


def _are_roundings(found: list[Any], wanted: list[Any], certain: list[Any]) -> bool:
    """Return whether results lie at most twice as far from those in double precision as torch's own, each that differs from torch's."""
    if not len(found) == len(wanted) == len(certain):
        return False
    for one, other, exact in zip(found, wanted, certain):
        if _differs([one], [other], NEAR):
            alike = one.shape == exact.shape and one.is_floating_point() and exact.is_floating_point()
            if not alike or not _apart(one, exact) <= 2 * _apart(other, exact):
                return False
    return True


def _apart(one: Any, exact: Any) -> float:
    """Return the largest distance of a gradient from that in double precision."""
    return float((one.detach().cpu().double() - exact).abs().max())


def _moved(value: Any, device: str) -> Any:
    if hasattr(value, "detach"):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, device) for item in value)
    return {key: _moved(item, device) for key, item in value.items()} if isinstance(value, dict) else value


def _exported(path: Path) -> Any:
    """Load a program; import the module of the class that its result is made of first, without which torch does not load it either."""
    import mstorch as torch

    try:
        return torch.export.load(path)
    except ValueError as error:
        unknown = re.search(r"Deserializing (\S+)\.\w+ in pytree", str(error))
        if unknown is None:
            raise
        torch.install()
        importlib.import_module(unknown[1])
        return torch.export.load(path)


def moved_as_torch_cannot(program: Any) -> bool:
    """Return whether a program keeps tensors beside its parameters and buffers, in lists: ``map_location`` moves them too, and in torch as
    here they then meet tensors that the text makes on the CPU (the boxes of SSD)."""
    held = [value for module in program.modules() for value in getattr(module, "_ms_values", {}).values()]
    return any(hasattr(one, "detach") for value in held if isinstance(value, (list, tuple)) for one in value)


def _read(path: Path, device: str) -> tuple[str, int]:
    """Load and compute a program with mstorch; return what differs, and how many gradients were compared."""
    import mstorch as torch
    from mstorch.export.passes import move_to_device_pass

    try:
        kept = torch.load(f"{path}.numbers", weights_only=False, map_location="cpu")
        args, kwargs = kept["call"]
        if path.suffix == ".exported":
            program = _exported(path)
            program = (program if device == "cpu" else move_to_device_pass(program, device)).module()
        else:
            program = torch.jit.load(path, map_location=device)
            if device != "cpu" and moved_as_torch_cannot(program):
                program = torch.jit.load(path).to(device)
        args, kwargs = _moved(args, device), _moved(kwargs, device)
        torch.manual_seed(1)
        with torch.no_grad():
            found = leaves_of(program(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
        wrong = _differs(found, kept["wanted"], NEAR)
        if wrong and _are_roundings(found, kept["wanted"], kept.get("certain", [])):
            wrong = ""
        if wrong or not kept["grads"]:
            return wrong, 0
        torch.manual_seed(1)
        loss_of(leaves_of(program(*args, **kwargs))).backward()
        grads = {name: one.grad for name, one in program.named_parameters() if one.grad is not None}
        if grads.keys() != kept["grads"].keys():
            return f"gradients of {len(grads)} parameters instead of {len(kept['grads'])}", 0
        for name, wanted in kept["grads"].items():
            wrong = _differs([grads[name]], [wanted], NEAR_OF_GRADIENTS)
            exact = kept.get("exact", {}).get(name)
            if wrong and (exact is None or not _apart(grads[name], exact) <= 2 * _apart(wanted, exact)):
                return f"gradient of {name}: {wrong}", 0
        return "", len(grads)
    except Exception as error:  # noqa: BLE001
        return said_of(error), 0


def read(folder: Path, words: list[str], device: str, most: int) -> int:
    """Read the folder's programs; print a line for each and the counts. ``most`` is how many of each kind are read."""
    import mstorch as torch

    _ = torch.companions.torchvision  # declares the operators that detectors call
    warnings.simplefilter("ignore")
    bad = 0
    for title, suffixes in (("TorchScript", (".scripted", ".traced")), (".pt2", (".exported",))):
        paths = sorted(path for path in folder.iterdir() if path.suffix in suffixes and _wanted(words, *path.stem.split(", ", 1), path.suffix[1:]))
        count = good = with_gradients = 0
        for path in paths[:: max(1, len(paths) // most)][:most] if most else paths:
            wrong, gradients = _read(path, device)
            count, good, with_gradients = count + 1, good + (not wrong), with_gradients + bool(gradients)
            if wrong:
                print(f"{path.name}: {wrong}", flush=True)
        print(f"{title}: {good} of {count} files compute torch's numbers on {device}, {with_gradients} of them with gradients", flush=True)
        bad += count - good
    return bad


def parser_of(text: str | None, other: str) -> argparse.ArgumentParser:
    """Return a parser of the arguments that commands of this kind share; ``other`` says what the Python of torch does."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--torch", default=sys.executable, help=f"the Python that {other}")
    parser.add_argument("--path", action="append", default=[], help="a folder of packages")
    parser.add_argument("--folder")
    return parser


def folder_of(given: argparse.Namespace) -> Path:
    """Return the folder of the files, which exists afterwards."""
    folder = Path(given.folder or tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    return folder


def main() -> int:
    """Write with torch, read with mstorch, and print what differs; return whether anything does."""
    parser = parser_of(__doc__, "writes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="only write")
    parser.add_argument("--read", type=int, nargs="?", const=0, help="only read; so many of each kind")
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = folder_of(given)
    if given.within:
        sys.path.extend(given.path)
        write(folder, given.words)
        return 0
    if given.read is None:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
        command = [given.torch, "-m", "tests.jit.archives", "--within", "--folder", str(folder), *given.words]
        run = subprocess.run([*command, *(part for path in given.path for part in ("--path", path))], cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)
        told = [json.loads(line[5:]) for line in run.stdout.splitlines() if line.startswith("TOLD ")]
        for group, name, kind, wrong in told:
            if wrong:
                print(f"torch cannot write {group}: {name} ({kind}): {wrong}", flush=True)
        print(f"torch wrote {sum(not one[-1] for one in told)} files", flush=True)
        if run.returncode:
            return 1
    sys.path.extend(given.path)
    return 0 if given.write else bool(read(folder, given.words, given.device, given.read or 0))


if __name__ == "__main__":
    sys.exit(main())
