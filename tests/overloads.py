"""Calls made from torch's own stubs: for each overload, by position, by keyword and with each optional argument.

The stubs (``torch/_C/*.pyi``) say what a function takes. Arguments are made from the types and names of the parameters, in several
sets (vectors, matrices, images, integers); the first set with which real torch computes something is what mstorch is asked too.

    python -m tests.overloads [-v] [-k TEXT]      # how many forms mstorch computes, and which it does not
    python -m tests.overloads --page              # writes docs/call_forms.md: every form that is not computed, and why
"""
from __future__ import annotations

import argparse
import ast
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch as real_torch

from tests.against_torch import run, same

# Private functions (of CUDA, MKL and quantization), and functions that would change the process.
SKIPPED = (
    "mkldnn", "miopen", "cudnn", "fbgemm", "quantize", "fake_quant", "q_", "fused_moving", "choose_qparams", "set_", "from_file",
    "init_num", "import_ir", "parse_", "sym_", "manual_seed", "seed", "quantized", "backward", "register_", "cuda", "xpu", "ipu", "hpu",
    "apply_", "map_", "map2_", "crow", "ccol", "col_ind", "row_ind", "indices", "values", "data_ptr", "share_memory", "storage", "new",
    "dense_dim", "sparse", "coalesce", "is_coalesced", "to_mkldnn", "retain_grad", "batch_norm_", "nonzero_static", "get_device",
    "untyped_storage",
)  # fmt: skip


class Form(NamedTuple):
    """One form of calling an overload: the names and types of its positional and keyword arguments."""

    owner: str
    name: str
    overload: int
    kind: str
    positional: tuple[tuple[str, str], ...]
    keywords: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        given = [name for name, _ in self.positional] + [f"{name}=" for name, _ in self.keywords]
        return f"{self.owner}.{self.name}({', '.join(given)})"


def _functions(owner: str) -> list[ast.FunctionDef]:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent / "_C"
    file = {"torch": "_VariableFunctions.pyi", "Tensor": "__init__.pyi", "functional": "_nn.pyi"}[owner]
    body = ast.parse((root / file).read_text()).body
    if owner == "Tensor":
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    names = [n for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_") and not n.name.startswith(SKIPPED)]
    if owner == "functional":  # the others are Python functions with signatures of their own
        public = real_torch.nn.functional
        names = [n for n in names if getattr(public, n.name, None) is getattr(real_torch._C._nn, n.name, object())]
    return names


def forms(owner: str) -> Iterator[Form]:
    """Return all forms of the functions of a namespace."""
    counts: dict[str, int] = {}
    for node in _functions(owner):
        counts[node.name] = number = counts.get(node.name, -1) + 1
        a = node.args
        places = [(p.arg, ast.unparse(p.annotation) if p.annotation else "Tensor") for p in a.posonlyargs + a.args]
        if owner == "Tensor" and places[:1] and places[0][0] == "self":
            places = places[1:]
        split = len(places) - len(a.defaults)
        required, optional = places[:split], places[split:]
        named = [(p.arg, ast.unparse(p.annotation) if p.annotation else "", d is None) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
        must = tuple((name, kind) for name, kind, needed in named if needed)
        star = [(a.vararg.arg, ast.unparse(a.vararg.annotation) if a.vararg.annotation else "_int")] * 2 if a.vararg else []
        position_only = {p.arg for p in a.posonlyargs}

        def form(kind: str, positional: list[tuple[str, str]], keywords: tuple[tuple[str, str], ...]) -> Form:
            return Form(owner, node.name, number, kind, tuple(positional), keywords)

        yield form("by position", required + star, must)
        if not star:
            if optional:
                yield form("all by position", required + optional, must)
            words = [p for p in required if p[0] not in position_only]
            fixed = [p for p in required if p[0] in position_only]
            if words:
                yield form("by keyword", fixed, must + tuple(words))
        for place in [p for p in optional if p[0] not in position_only] + [(n, k) for n, k, needed in named if not needed]:
            yield form(place[0] + "=", required + star, must + (place,))


class Unknown(Exception):
    """Raised for a parameter for which no value is known."""


ARRAYS: dict[str, Callable[[int], np.ndarray]] = {
    "matrix": lambda n: (np.arange(9).reshape(3, 3) * 0.1 + np.eye(3) * (n + 1)).astype(np.float32),
    "vector": lambda n: np.array([0.5, 0.25, 0.75], np.float32) + np.float32(0.1) * n,
    "integers": lambda n: np.array([[1, 2, 3], [3, 1, 0], [2, 2, 1]]) + 0 * n,
    "image": lambda n: np.linspace(0.1, 0.9, 48).reshape(1, 3, 4, 4).astype(np.float32) + np.float32(0.1) * n,
    "sequence": lambda n: np.linspace(0.1, 0.9, 18).reshape(2, 3, 3).astype(np.float32) + np.float32(0.1) * n,
    "bools": lambda n: np.array([[True, False, True], [False, True, True], [n % 2 == 0, True, False]]),
    "complex": lambda n: (np.arange(9).reshape(3, 3) * (0.1 + 0.2j) + np.eye(3) * (n + 1)).astype(np.complex64),
    "scalar": lambda n: np.array(0.5 + n, np.float32),
    "volume": lambda n: np.linspace(0.1, 0.9, 128).reshape(1, 2, 4, 4, 4).astype(np.float32) + np.float32(0.1) * n,
}
INDEX = ("index", "indices", "tensor_indices_or_sections", "target", "labels", "batch1_index")
INTEGERS = {"dim": 0, "dim0": 0, "dim1": 1, "axis": 0, "start": 0, "length": 2, "chunks": 2, "steps": 4, "k": 1, "n": 2, "N": 3,
            "end": 3, "groups": 1, "num_samples": 2, "M": 3, "bins": 4, "high": 5, "low": 1, "sections": 1, "indices_or_sections": 1,
            "split_size": 1, "repeats": 2, "win_length": 4, "n_fft": 4, "window_length": 5, "row": 3, "col": 3, "dims": 1, "size": 1,
            "kernel_size": 2, "stride": 1, "dilation": 1, "diagonal": 0, "offset": 0, "p": 2, "reduction": 1, "minlength": 5}  # fmt: skip
NUMBERS = {"p": 2.0, "rcond": 1e-6, "end": 3, "start": 0, "step": 1, "lo": 0, "min": 0.3, "max": 0.6, "lambd": 0.5, "prob": 0.5,
           "maxnorm": 1.0, "beta": 1, "alpha": 2, "exponent": 2, "threshold": 0.3, "negative_slope": 0.1, "weight": 0.5, "fill_value": 2.0}  # fmt: skip


def value(torch: Any, name: str, kind: str, arrays: str, number: int, function: str) -> Any:
    """Return an argument for a parameter of this name and type."""
    kind = kind.replace("builtins.", "").replace("torch.", "").replace('"', "")
    kinds = [k.strip() for k in kind.replace("Optional[", "").replace("]", "] |").split("|")] if "|" in kind or "Optional" in kind else [kind]
    first = kinds[0].rstrip("]") if kinds[0].startswith("Optional") else kinds[0]
    if name == "generator":
        return torch.Generator().manual_seed(3)
    if name == "out":
        raise Unknown("out")  # made from what torch returns
    if name in ("names", "dimname"):
        raise Unknown(name)
    if first in ("Tensor", "TensorBase"):
        if name in INDEX:
            return torch.tensor(np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1]]) if arrays != "vector" else np.array([0, 1, 1]))
        if name in ("mask", "condition"):
            return torch.tensor(ARRAYS["bools"](0))
        return torch.tensor(ARRAYS[arrays](number))
    if first in ("_int", "int", "SymInt", "_int | SymInt", "IntLikeType"):
        return INTEGERS.get(name, 1)
    if first in ("_float", "float", "_number"):
        return float(NUMBERS.get(name, 0.5))
    if first in ("Number", "_complex", "Number | _complex", "Scalar"):
        return NUMBERS.get(name, 2)
    if first in ("_bool", "bool"):
        return True
    if first in ("_dtype", "dtype"):
        return torch.float64
    if first in ("_layout", "layout"):
        return torch.strided
    if first in ("memory_format", "_memory_format"):
        return torch.contiguous_format
    if first in ("DeviceLikeType", "_device", "Device", "device"):
        return "cpu"
    if first == "str":
        words = {"mode": "r", "indexing": "ij", "reduce": "sum", "side": "left", "equation": "ij,jk->ik", "rounding_mode": "floor",
                 "UPLO": "L", "pad_mode": "reflect", "interpolation": "linear", "driver": "gelsd", "padding_mode": "zeros"}  # fmt: skip
        return words.get(name, "none")
    if "Sequence" in first or first.startswith(("_size", "tuple", "list")):
        if "Tensor" in first:
            return [torch.tensor(ARRAYS[arrays](i)) for i in range(2)]
        if "bool" in first:
            return [True, True, True]
        plain = {"size": (3, 3), "shape": (3, 3), "dims": (0,), "dim": (0,), "axis": (0,), "repeats": (2, 1), "sizes": (3, 3),
                 "stride": (1, 1) if arrays != "sequence" else (1,), "kernel_size": (2, 2), "output_size": (2, 2), "pad": (1, 1),
                 "padding": (1, 1), "dilation": (1, 1), "split_size": (1, 2), "split_sizes": (1, 2), "shifts": (1,), "axis0": (0,),
                 "indices": (1, 2), "indices_or_sections": (1, 2), "normalized_shape": (3,), "source": (0,), "destination": (1,),
                 "dims_self": (0,), "dims_other": (0,), "s": (3,), "bins": (2, 2)}  # fmt: skip
        return plain.get(name, (1,))
    raise Unknown(f"{name}: {kind}")


def target_of(torch: Any, form: Form) -> Any:
    owner = {"torch": torch, "Tensor": torch.Tensor}.get(form.owner) or torch._C._nn
    return getattr(owner, form.name, None)


def call(torch: Any, form: Form, arrays: str, function: Callable[..., Any]) -> Any:
    """Return the result of a form with one set of arguments."""
    number = 0
    args, kwargs = [], {}
    if form.owner == "Tensor":
        args.append(torch.tensor(ARRAYS[arrays](0)))
        number = 1
    for name, kind in form.positional:
        args.append(value(torch, name, kind, arrays, number, form.name))
        number += 1
    out = False
    for name, kind in form.keywords:
        if name == "out":
            out = True
            continue
        kwargs[name] = value(torch, name, kind, arrays, number, form.name)
        number += 1
    result = function(*args, **kwargs)
    if out:
        empty = [torch.empty(0, dtype=r.dtype) for r in (result if isinstance(result, (tuple, list)) else [result])]
        kwargs["out"] = tuple(empty) if isinstance(result, (tuple, list)) else empty[0]
        torch.manual_seed(0)
        function(*args, **kwargs)
        return tuple(empty)
    return result, args[0] if form.name.endswith("_") else None


class Verdict(NamedTuple):
    """The outcome for a form: ``equal``, ``differs``, ``refused`` (by torch), ``unmade`` or ``absent``, with the reason."""

    form: Form
    state: str
    why: str


def judge(form: Form, torch: Any, mine: Any) -> Verdict:
    """Call a form with both libraries."""
    function = target_of(torch, form)
    owner = {"torch": mine, "Tensor": mine.Tensor, "functional": mine.nn.functional}[form.owner]
    ours = getattr(owner, form.name, None)
    if function is None:
        return Verdict(form, "unmade", "torch has the stub only")
    if ours is None:
        return Verdict(form, "absent", "")
    reasons = []
    for arrays in ARRAYS:
        want, error = run(lambda torch: call(torch, form, arrays, function), torch)
        if error is None:
            break
        if isinstance(error, Unknown):
            return Verdict(form, "unmade", str(error))
        reasons.append(error)
    else:
        if all(isinstance(error, TypeError) for error in reasons):
            return Verdict(form, "refused", str(reasons[0]).split("\n")[0])
        return Verdict(form, "unmade", str(next(e for e in reasons if not isinstance(e, TypeError))).split("\n")[0])
    got, error = run(lambda torch: call(torch, form, arrays, ours), mine)
    if error is not None:
        return Verdict(form, "differs", f"[{arrays}] {type(error).__name__}: {error}".split("\n")[0])
    try:
        if not form.name.startswith("empty") and form.name not in ("resize_", "resize_as_"):
            same(want, got, rtol=1e-4, atol=1e-5, strides=False)
    except AssertionError as difference:
        return Verdict(form, "differs", f"[{arrays}] " + " ".join(str(difference).split())[:200])
    return Verdict(form, "equal", "")


# Calls of functions that are not called from the stubs (SKIPPED), and forms that need special arguments. ``x`` is a matrix, ``b`` two of
# them, ``v`` and ``w`` vectors, ``s`` and ``c`` are x in the layouts COO and CSR, ``h`` is x in bfloat16.
CALLS = [
    "torch.addmm(x, x, x, out_dtype=torch.float64)", "torch.baddbmm(b, b, b, out_dtype=torch.float64)", "torch.bmm(b, b, torch.float64)",
    "torch.mm(x, x, torch.float64)", "torch.mm(h, h, out_dtype=torch.float32)", "torch.addmv_(1, w, 2, x, v)", "torch.addmv_(1, w, x, v)",
    "torch.addmv_(w, 2, x, v)", "torch.addmv_(beta=1, self=w, mat=x, vec=v)", "torch.add(self=x, alpha=2, other=x)",
    "torch.addcdiv(self=x, value=0.5, tensor1=x, tensor2=x)", "torch.addbmm(beta=1, self=x, batch1=b, batch2=b)",
    "torch.ccol_indices_copy(x.to_sparse_csc(), out=e)", "torch.col_indices_copy(c, out=e)", "torch.crow_indices_copy(c, out=e)",
    "torch.row_indices_copy(x.to_sparse_csc(), out=e)", "torch.indices_copy(s, out=e)", "torch.values_copy(s, out=e)",
    "torch.conj_physical_(input=x + 0)", "torch.dequantize(tensors=[x])", "torch.dequantize([x])",
    "torch.empty_quantized((2,), x, requires_grad=True)", "torch.from_numpy(ndarray=x.numpy())", "torch.full((2,), 1.0, names=None)",
    "torch.full(size=(2,), fill_value=1.0, names=('a',))", "torch.hsmm(mat1=s, mat2=x)", "torch.smm(s, mat2=x)", "torch.smm(self=s, mat=x)",
    "s.smm(mat2=x)", "s.smm(mat=x)", "torch.sspaddmm(1, s, 2, s, x)", "torch.sspaddmm(2, s, s, x)",
    "torch.sspaddmm(beta=1, self=s, mat1=s, mat2=x)", "torch.index_put_(input=v + 0, indices=(i,), values=v)", "torch.linspace(0, 1)",
    "torch.logspace(0, 1)", "torch.logspace(0, 1, base=2.0)", "torch.numel(self=x)",
    "torch.range(0, 1, pin_memory=False)", "torch.set_num_interop_threads(num=1)", "torch.set_num_threads(num=1)",
    "torch.set_num_threads(int=1)", "torch.sub(self=x, alpha=2, other=x)", "torch.tensor([1], torch.float64)",
    "x.new_tensor([1], torch.float64)", "x.new(cls=1)", "x.requires_grad_(mode=True)", "x.hash_tensor(0)", "x.hash_tensor(0, keepdim=True)",
    "x.hash_tensor(0, mode=0)", "x.hash_tensor(0, 1)", "torch.result_type(scalar=2, tensor=x)", "torch.result_type(2, tensor=x)",
    "torch.result_type(tensor=x, other=2)", "torch.result_type(scalar1=2, scalar2=2.0)", "F.elu(x, 1.0, 1.0, 1.0)", "F.elu(x, 1.0, scale=2)",
    "F.elu(x, input_scale=2)", "F.gelu(x, 'none')", "F.hardsigmoid(x, out=e)", "F.hardtanh(x, out=e)", "F.leaky_relu(x, out=e)",
    "F.max_unpool2d(x[None], torch.zeros(1, 3, 3, dtype=torch.int64), output_size=(3, 3))", "torch.split_copy(input=v, split_size=2)",
]  # fmt: skip


def made_by_hand(torch: Any, call: str) -> Any:
    """Return the result of one of CALLS."""
    x, v = torch.eye(3) + 0.1, torch.tensor([1.0, 2.0, 3.0])
    names = {
        "torch": torch, "F": torch.nn.functional, "x": x, "b": torch.stack([x, x]), "v": v, "w": v + 1, "s": x.to_sparse(), "h": x.bfloat16(),
        "c": x.to_sparse_csr(), "i": torch.tensor([0, 1, 2]), "e": torch.empty(0, dtype=torch.float32 if "values" in call else torch.int64),
    }  # fmt: skip
    result = eval(call, names)
    return result.to_dense() if getattr(result, "is_sparse", False) else result


def _told(call: str, library: Any) -> str:
    result, error = run(lambda torch: made_by_hand(torch, call), library)
    return "computes it" if error is None else _line(f"{type(error).__name__}: {error}")


def _line(text: str) -> str:
    return text.split("\n")[0].strip().split(". This could be because")[0].replace("|", "\\|")[:150]


_HEADS = {
    "differs": "torch computes it, mstorch gives something else", "absent": "torch has it, mstorch does not",
    "refused": "The stubs say so, torch refuses it",
}  # fmt: skip
_PAGE = """# Call forms that are not computed

Written by `python -m tests.overloads --page`; not to be edited. The forms are those of the stubs that torch {version} ships: of each
overload all required arguments by position, all by keyword, and each optional one by keyword. With arguments that torch takes,
mstorch computes {equal} of {known} forms as torch does ({share:.2f} %). The others, and what real torch says to the same call:
"""


def page(torch: Any, mine: Any) -> str:
    """Return the text of docs/call_forms.md."""
    verdicts = [judge(form, torch, mine) for owner in ("torch", "Tensor", "functional") for form in forms(owner)]
    equal = sum(v.state == "equal" for v in verdicts)
    known = equal + sum(v.state in ("differs", "absent") for v in verdicts)
    version = torch.__version__.split("+")[0]
    lines = _PAGE.format(version=version, equal=equal, known=known, share=100 * equal / known).splitlines()
    for state, head in _HEADS.items():
        found = sorted({(v.form.title, _line(v.why)) for v in verdicts if v.state == state})
        whose = "mstorch" if state == "differs" else "torch"
        lines += ["", f"## {head}", "", f"| call | {whose} |", "|---|---|"]
        lines += [f"| `{title}` | {why or '—'} |" for title, why in found]
    unmade: dict[tuple[str, str], int] = {}
    for v in verdicts:
        if v.state == "unmade":
            name = f"{v.form.owner}.{v.form.name}", _line(v.why)
            unmade[name] = unmade.get(name, 0) + 1
    lines += ["", "## Not compared: torch computed nothing with any of the arguments", "", "| function | forms | torch |", "|---|---|---|"]
    lines += [f"| `{name}` | {count} | {why} |" for (name, why), count in sorted(unmade.items())]
    lines += ["", "## Calls made by hand", "", "| call | torch | mstorch |", "|---|---|---|"]
    lines += [f"| `{call}` | {_told(call, torch)} | {_told(call, mine)} |" for call in CALLS]
    return "\n".join(lines) + "\n"


def main() -> None:
    import mstorch

    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="call forms of torch's stubs that mstorch computes")
    parser.add_argument("-v", action="store_true", help="print the forms that differ")
    parser.add_argument("-k", default="", help="only names that hold this text")
    parser.add_argument("--page", action="store_true", help="write docs/call_forms.md")
    options = parser.parse_args()
    if options.page:
        (Path(__file__).parent.parent / "docs" / "call_forms.md").write_text(page(real_torch, mstorch))
        return
    for owner in ("torch", "Tensor", "functional"):
        verdicts = [judge(form, real_torch, mstorch) for form in forms(owner) if options.k in form.name]
        count = {state: sum(v.state == state for v in verdicts) for state in ("equal", "differs", "absent", "refused", "unmade")}
        print(owner, count, flush=True)
        if options.v:
            for verdict in verdicts:
                if verdict.state != "equal":
                    print("  ", verdict.state, verdict.form.title, "-", verdict.why)


if __name__ == "__main__":
    main()
