"""Memory of results, compared with torch: strides of empty or sliced ones, version counters, order of errors, overlapping writes."""
from __future__ import annotations

import warnings

import pytest

PROGRAMS = {
    "sum_empty": lambda T: T.autograd.grad((x:=T.ones(0,4,requires_grad=True)).sum(),x)[0],
    "sum_empty_half": lambda T: T.autograd.grad((x:=T.ones(0,4,dtype=T.float16,requires_grad=True)).float().sum(),x)[0],
    "mean_empty": lambda T: T.autograd.grad((x:=T.ones(0,4,requires_grad=True)).mean(),x)[0],
    "narrow0": lambda T: T.autograd.grad((x:=T.ones(2,2,3,2,requires_grad=True)).permute(1,2,3,0).narrow(3,1,0).sum(),x)[0],
    "narrow1": lambda T: T.autograd.grad((x:=T.ones(2,2,3,2,requires_grad=True)).permute(1,2,3,0).narrow(3,1,1).sum(),x)[0],
    "mask0": lambda T: T.ones(2,3,1)[T.tensor([False,False])],
    "mask0b": lambda T: T.ones(2,3,4)[T.tensor([False,False])],
    "mask1": lambda T: T.ones(2,3,1)[T.tensor([False,True])],
    "idx0": lambda T: T.ones(0,3,5,1)[T.tensor([],dtype=T.bool),:1:3,-1,1:],
    "idx0b": lambda T: T.ones(2,3,5)[T.tensor([],dtype=T.int64)],
    "idx0c": lambda T: T.ones(2,3,5)[:,T.tensor([],dtype=T.int64)],
    "idx0d": lambda T: T.ones(2,0,5)[:,:,T.tensor([0,1])],
    "idx0e": lambda T: T.ones(2,3,2)[0:0,T.tensor([0,-1])],
    "idx_t": lambda T: T.arange(12.).reshape(2,3,2)[0::2,T.tensor([0,-1])],
    "idx_t2": lambda T: T.arange(24.).reshape(2,3,4)[:,:,T.tensor([0,-1])],
    "idx_t3": lambda T: T.arange(24.).reshape(2,3,4).permute(2,0,1)[:,T.tensor([0,-1])],
    "idx_t4": lambda T: T.arange(24.).reshape(2,3,4).permute(2,0,1)[T.tensor([0,-1])],
    "diff0": lambda T: T.zeros(2,0,2,dtype=T.int64).diff(dim=1),
    "diff0b": lambda T: T.ones(12).reshape(2,3,2).long()[0::2,T.tensor([0,-1])].permute(2,0,1).diff(dim=1),
    "diff1": lambda T: T.ones(2,3,2).permute(2,0,1).diff(dim=1),
    "diffrg": lambda T: (T.ones(3,0,4,requires_grad=True)[T.tensor([-2]),:]).diff(dim=-2),
    "pad": lambda T: T.nn.functional.pad(T.ones(2,0,5,3),(-1,0)),
    "pad2": lambda T: T.nn.functional.pad(T.ones(2,2,5,3),(-1,0)),
    "pad3": lambda T: T.nn.functional.pad(T.ones(2,2,5,3).permute(2,0,1,3),(-1,0)),
    "pad4": lambda T: T.nn.functional.pad(T.ones(2,2,5,3).permute(2,0,1,3),(1,0)),
    "pad5": lambda T: T.nn.functional.pad(T.ones(2,0,5,3).permute(2,0,1,3),(1,0)),
    "ia0": lambda T: T.zeros(5,5)[None,:,5:-1:1].index_add(-1,T.tensor([],dtype=T.int64),T.ones(1,5,0)),
    "ia1": lambda T: T.zeros(5,4).t().index_add(0,T.tensor([0]),T.ones(1,5)),
    "ic1": lambda T: T.zeros(5,4).t().index_copy(0,T.tensor([0]),T.ones(1,5)),
    "if1": lambda T: T.zeros(5,4).t().index_fill(0,T.tensor([0]),1.),
    "sc1": lambda T: T.zeros(5,4).t().scatter(0,T.zeros(1,5,dtype=T.int64),1.),
    "sa1": lambda T: T.zeros(5,4).t().scatter_add(0,T.zeros(1,5,dtype=T.int64),T.ones(1,5)),
    "mf1": lambda T: T.zeros(5,4).t().masked_fill(T.zeros(4,5).bool(),1.),
    "ms1": lambda T: T.zeros(5,4).t().masked_scatter(T.ones(4,5).bool(),T.ones(4,5)),
    "ip1": lambda T: T.zeros(5,4).t().index_put((T.tensor([0]),),T.ones(1)),
    "ia_exc": lambda T: T.zeros(0,dtype=T.bool).index_add(0,T.tensor([0]),T.ones(1,dtype=T.bool)),
    "ia_exc2": lambda T: T.zeros(3,0).index_add(1,T.tensor([0]),T.ones(3,1)),
    "ia_exc3": lambda T: T.zeros(3).index_add(0,T.tensor([4]),T.ones(1)),
    "glu": lambda T: T.nn.functional.glu(T.ones(3,3).bool()),
    "rl": lambda T: T.randn_like(T.zeros(0,2,dtype=T.uint8)),
    "md": lambda T: T.ones(()).movedim(0,-1),
    "mm0": lambda T: T.ones(3,2).long()@T.ones(0,2,3).double(),
    "mm0b": lambda T: T.ones(3,0).long()@T.ones(0,3).double(),
    "q": lambda T: T.quantile(T.arange(8.).reshape(2,1,4).double(),0.5)._version,
    "q2": lambda T: T.quantile(T.arange(8.).reshape(2,1,4).double(),T.tensor([0.5,.2]).double(),dim=1)._version,
    "q3": lambda T: T.nanquantile(T.arange(8.),0.5)._version,
    "ov2": lambda T: (t:=T.ones(1,2,3)).index_add_(0,T.tensor([0]),t[-1:]),
    "ov3": lambda T: (t:=T.ones(1,2,3)).scatter_(0,T.zeros(1,2,3).long(),t[-1:]),
    "ov4": lambda T: (t:=T.ones(1,2,3)).index_put_((T.tensor([0]),),t[-1:]),
    "ov5": lambda T: (t:=T.ones(1,2,3)).scatter_add_(0,T.zeros(1,2,3).long(),t),
    "ov6": lambda T: (t:=T.ones(())).__setitem__(None,t[...]),
    "ov7": lambda T: (t:=T.ones(())).__setitem__((Ellipsis,None),t[...]),
    "ov8": lambda T: (t:=T.ones(1,1)).__setitem__(0,t[:,0]),
    "ov9": lambda T: (t:=T.ones(2,2)).__setitem__(0,t[:,0]),
    "mfe": lambda T: (t:=T.ones(()).expand(2,2)).masked_fill_(t>0,.25),
    "mfe2": lambda T: (t:=T.ones(()).expand(2,2)).__setitem__(t>0,.25),
    "mfe3": lambda T: (t:=T.ones(()).expand(2,2)).__setitem__(t>0,T.tensor(.25)),
    "mfe4": lambda T: T.ones(()).expand(2,2).index_fill_(0,T.tensor([0]),.25),
}


def _seen(found):
    if isinstance(found, (tuple, list)):
        return [_seen(item) for item in found]
    if not hasattr(found, "stride"):
        return found
    return tuple(found.shape), found.stride(), found.requires_grad, found._version, str(found.dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_corners(both, name):
    def body(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _seen(PROGRAMS[name](torch))

    both(body)


GRADIENTS = {
    "permuted": lambda T, x: x.permute(2, 0, 1).narrow(0, 0, 1),
    "selected": lambda T, x: x.index_select(1, T.tensor([0, 1])),
    "resized": lambda T, x: T.nn.functional.interpolate(x, scale_factor=2),
    "mean": lambda T, x: x.mean(1),
    "sum": lambda T, x: x.sum(1),
    "one": lambda T, x: x[:1, :1, :1].sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_keep_the_order_that_they_come_in(both, name):
    def body(torch):
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        return torch.autograd.grad(GRADIENTS[name](torch, x).sum(), x)[0]

    both(body)


def test_results_that_are_their_own_input(both):
    def own(torch, run):
        t = torch.arange(12.0).reshape(2, 3, 2)
        try:
            run(t)
        except RuntimeError as error:
            return str(error), tuple(t.shape)
        return tuple(t.shape), t

    both(lambda torch: own(torch, lambda t: torch.max(t, 0, out=(t, torch.zeros(0, dtype=torch.int64)))))
    both(lambda torch: own(torch, lambda t: torch.clamp(t, 0, 1, out=torch.zeros(2, 3, 2, dtype=torch.float64))))

    def vector(torch):
        t = torch.ones(3)
        try:
            torch.matmul(t, t, out=t)
        except RuntimeError as error:
            return str(error), tuple(t.shape)

    both(vector)


def test_views_whose_base_was_written_without_recording(both):
    def body(torch):
        with torch.no_grad():
            t = torch.ones(6).reshape(2, 3).requires_grad_()
        view = t.permute(1, 0)
        with torch.no_grad():
            t.clamp_min_(0)
        return view.grad, view.is_leaf

    both(body)


def test_copies_of_the_same_memory_take_its_history(both):
    def body(torch):
        source = torch.ones(2, requires_grad=True) * 2
        copy, part = source.detach(), source.detach()
        copy.copy_(source)
        part[...] = source
        return copy.requires_grad, part.requires_grad, copy

    both(body)
