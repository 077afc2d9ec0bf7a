"""The table of operators, and how one is called: a function's parameters are the operator's, in its order; annotations say what is no operand:
int, bool, str (a text), float (a double), F32, I32 (a float and an integer of 32 bits).
"""
import inspect
import os
import struct
from pathlib import Path

import torch
from reading import DTYPES, Refused, Word, shown

F32, I32 = "f32", "i32"
KERNELS = {}
"""By name of an ACLNN operator: the function and its parameters."""
OLDER = {}
"""By name of an operator of the older aclop interface: a function of inputs, outputs and attributes."""
SOC = os.environ.get("EMULATED_CANN_DTYPES", "")
"""Whose dtypes are refused that CANN's pages do not name: 910B, 910A, or nobody's."""


SEEN = bool(os.environ.get("EMULATED_CANN_SEEN"))
"""Whether calls are refused that were seen to fail, or to end the process, on a 910B, whatever CANN's pages say of them."""
FAILED = frozenset(
    f"aclnn{name}"
    for name in "AvgPool2d IsInf Square Im2col Linspace InstanceNorm UpsampleNearest1d Einsum SoftmaxBackward LogSoftmaxBackward Subs".split()
)
IN_ROWS = frozenset(("aclnnSilu", "aclnnNeg", "aclnnCat"))
PRODUCTS = frozenset(("aclnnMatmul", "aclnnBatchMatMul"))


def seen_to_fail(name, args):
    """Return why a 910B failed in such a call; "" if it was not seen to."""
    tensors = [item for v in args for item in (v if isinstance(v, list) else [v]) if isinstance(item, torch.Tensor) and not hasattr(item, "nowhere")]
    strided = [item for item in tensors[:-1] if not item.is_contiguous()]
    if name in FAILED or name == "aclnnVarCorrection" and not tensors[-1].dim():
        return f"{name}: seen to fail on a 910B"
    # Transposed matrices pass in products: MindSpore's BatchMatMul hands them on so by itself, for all its users.
    if name in PRODUCTS and max(item.dim() for item in tensors) > 2:
        strided = [item for item in strided if not (item.dim() > 1 and item.transpose(-1, -2).is_contiguous())]
    elif name not in IN_ROWS:
        return ""
    if strided:
        return f"{name}: a 910B takes no operand with steps {strided[0].stride()}"
    return ""


def _documented():
    """Return for each operator the dtypes of its tensors, in the order of its arguments; None for one that the device lacks."""
    known = {}
    for line in (Path(__file__).parent / "dtypes.txt").read_text().splitlines():
        name, _, rest = line.partition(": ")
        newer, _, older = rest.partition(" | ")
        told = older if older and SOC == "910A" else newer
        known["aclnn" + name] = None if told == "-" else [set(entry.split()[1:]) for entry in told.split("; ")]
    return known


DOCUMENTED = _documented()


def undocumented(name, args):
    """Return what CANN says of a call whose dtypes its page does not name; "" of others, and of pages that do not tell."""
    known = DOCUMENTED.get(name, ())
    if known is None:
        return f"{name}: the operator is not implemented on this device"
    tensors = [v for v in args if isinstance(v, (torch.Tensor, list)) and not (isinstance(v, list) and not (v and isinstance(v[0], torch.Tensor)))]
    if len(tensors) != len(known):
        return ""  # optional tensors are left out: which ones is not known
    for v, names in zip(tensors, known):
        for item in v if isinstance(v, list) else [v]:
            dtype = str(item.dtype)[6:]
            if names and "*" not in names and dtype not in names and not hasattr(item, "nowhere"):
                return f"{name}: Tensor not implemented for DT_{dtype.upper()}, should be in dtype support list {sorted(names)}"
    return ""


def kernel(*names):
    def add(f):
        kinds = [(p.name, p.annotation) for p in inspect.signature(f).parameters.values()]
        for n in names:
            KERNELS[n] = f, kinds
        return f
    return add


def call(name, words, raw, args):
    if name.startswith("aclop:"):
        f = OLDER.get(name[6:])
        if f is None:
            raise Refused(f"{name} is not emulated: {shown(args[0][0])} -> {shown(args[0][1])} {args[0][2]}")
        return f(*args[0])
    if name not in KERNELS:
        raise Refused(f"{name} is not emulated. It was called with ({', '.join(map(shown, args))})")
    f, kinds = KERNELS[name]
    rest, real, values = list(zip(args, words)), 0, []
    for parameter, kind in kinds:
        if kind in (float, F32):
            values.append(struct.unpack_from("<d" if kind is float else "<f", raw, 8 * real)[0])
            real += 1
            continue
        if not rest:
            raise Refused(f"{name}: too few operands: {', '.join(map(shown, args))} for {kinds}")
        v, word = rest.pop(0)
        if kind in (bool, int, I32) and word is not None:
            v = Word(word)  # what lay in the upper bytes happens to be an operand's address
        if kind is bool:
            v = bool(v & 255)
        elif kind is int:
            v = struct.unpack("<q", struct.pack("<Q", v))[0]
        elif kind == I32:
            v = struct.unpack("<i", struct.pack("<I", v & 0xFFFFFFFF))[0]
        elif kind is str:
            v = v.text
        elif isinstance(v, Word):
            if v:
                raise Refused(f"{name}: {parameter} is {v:#x}, no operand: {', '.join(map(shown, args))}")
            v = None
        values.append(v)
    if rest:
        raise Refused(f"{name}: {len(rest)} operands too many: {', '.join(map(shown, args))} for {[k for k, _ in kinds]}")
    if SOC and (told := undocumented(name, args)) or SEEN and (told := seen_to_fail(name, args)):
        raise Refused(told)
    return f(*values)


def put(out, value):
    """Writes a result where it belongs; its shape must be right, its dtype is the output's."""
    if out is None or hasattr(out, "nowhere"):
        return
    if tuple(out.shape) != tuple(value.shape):
        raise Refused(f"the output has shape {list(out.shape)}, the result {list(value.shape)}")
    out.copy_(value.to(out.dtype) if value.dtype != out.dtype else value)


def resized(reader_out, value):
    """A result whose length depends on values: as much of the output as it fills, and the shape is told."""
    flat = reader_out.reshape(-1) if reader_out.is_contiguous() else None
    if flat is None or flat.numel() < value.numel():
        raise Refused(f"the output {list(reader_out.shape)} cannot take {list(value.shape)}")
    reader_out.as_strided((value.numel(),), (1,), reader_out.storage_offset()).copy_(value.reshape(-1).to(reader_out.dtype))
    return {reader_out.ordinal: tuple(value.shape)}


def dt(word):
    return DTYPES[word & 0xFFFFFFFF]


def dims_of(x, dims):
    return list(range(x.dim())) if not dims else dims


def by_autograd(f, x, grad):
    """Returns the gradient of a function of one tensor, by torch's autograd."""
    x = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(f(x), x, grad)[0]
