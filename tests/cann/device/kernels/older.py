"""Operators of the older aclop interface: functions of inputs, outputs and attributes."""
import torch
from calling import OLDER, by_autograd, put
from reading import F, aten

def strided_slice_grad(shape, begin, end, strides, g):
    grad = torch.zeros([int(n) for n in shape], dtype=g.dtype)
    grad[tuple(slice(int(b), int(e), int(s)) for b, e, s in zip(begin, end, strides))] = g
    return grad


def cumsum_old(x, dim, attributes):
    x = x.flip(dim) if attributes["reverse"] else x
    y = torch.cumsum(x, dim) - (x if attributes["exclusive"] else 0)
    return y.flip(dim) if attributes["reverse"] else y


def ctc_old(i, o, a):
    nll, alpha = aten._ctc_loss(i[0], i[1].long(), [int(n) for n in i[2]], [int(n) for n in i[3]], int(a.get("blank", 0)), bool(a.get("zero_infinity", False)))
    put(o[0], nll.reshape(o[0].shape))
    o[1].fill_(float("-inf")), o[1][:, :, :alpha.shape[2]].copy_(alpha)


def ctc_old_backward(i, o, a):
    put(o[0], by_autograd(lambda x: F.ctc_loss(x, i[2].long(), i[3].long(), i[4].long(), int(a.get("blank", 0)), "none", bool(a.get("zero_infinity", False))), i[1], i[0].reshape(-1)))


OLDER |= {
    "Real": lambda i, o, a: put(o[0], torch.real(i[0])),
    "Imag": lambda i, o, a: put(o[0], torch.imag(i[0])),
    "ComplexAbs": lambda i, o, a: put(o[0], torch.abs(i[0])),
    "Angle": lambda i, o, a: put(o[0], torch.angle(i[0])),
    "Conj": lambda i, o, a: put(o[0], torch.conj(i[0]).resolve_conj()),
    "Complex": lambda i, o, a: put(o[0], torch.complex(i[0], i[1])),
    "RightShift": lambda i, o, a: put(o[0], torch.bitwise_right_shift(i[0], i[1])),
    "Lgamma": lambda i, o, a: put(o[0], torch.lgamma(i[0])),
    "Digamma": lambda i, o, a: put(o[0], torch.digamma(i[0])),
    "Polygamma": lambda i, o, a: put(o[0], torch.polygamma(int(i[0]), i[1])),
    "Igamma": lambda i, o, a: put(o[0], torch.special.gammainc(i[0], i[1])),
    "Igammac": lambda i, o, a: put(o[0], torch.special.gammaincc(i[0], i[1])),
    "BesselI0": lambda i, o, a: put(o[0], torch.i0(i[0])),
    "Heaviside": lambda i, o, a: put(o[0], torch.heaviside(i[0], i[1])),
    "UnsortedSegmentSum": lambda i, o, a: put(o[0], torch.zeros(o[0].shape, dtype=i[0].dtype).index_add_(0, i[1].long().reshape(-1), i[0].reshape(i[1].numel(), *o[0].shape[1:]))),
    "ZerosLike": lambda i, o, a: o[0].zero_(),
    "OnesLike": lambda i, o, a: o[0].fill_(1),
    "GatherV2": lambda i, o, a: put(o[0], torch.index_select(i[0], int(i[2]), i[1].long().reshape(-1)).reshape(o[0].shape)),
    "StridedSlice": lambda i, o, a: put(o[0], i[0][tuple(slice(*(int(n) for n in t)) for t in zip(i[1], i[2], i[3]))]),
    "CTCLossV2": lambda i, o, a: ctc_old(i, o, a),
    "CTCLossV2Grad": lambda i, o, a: ctc_old_backward(i, o, a),
    "AddN": lambda i, o, a: put(o[0], sum(i[1:], i[0])),
    "SqrtGrad": lambda i, o, a: put(o[0], i[1] * 0.5 / i[0]),
    "RsqrtGrad": lambda i, o, a: put(o[0], i[1] * -0.5 * i[0] ** 3),
    "StridedSliceGrad": lambda i, o, a: put(o[0], strided_slice_grad(*i)),
    "Cumsum": lambda i, o, a: put(o[0], cumsum_old(i[0], int(i[1]), a)),
    "ReduceSum": lambda i, o, a: put(o[0], i[0].sum([int(n) for n in i[1].reshape(-1)] or list(range(i[0].dim())), bool(a.get("keep_dims", False)))),
    "RealDiv": lambda i, o, a: put(o[0], i[0] / i[1]),
    "Cumprod": lambda i, o, a: put(o[0], torch.cumprod(i[0], int(i[1]))),
}


OLDER |= {f"Cust{k}": v for k, v in OLDER.items()}
