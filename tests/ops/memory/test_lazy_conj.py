"""Lazy conjugates and negatives: shared memory, operations that keep or resolve the bits, writes through them."""
from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import mstorch

VIEWS = """
y; y.t(); y.T; y.mT; y.H; y.mH; y.adjoint(); y.transpose(0, 1); y.permute(1, 0); y.reshape(-1); y.t().reshape(-1); y.view(3, 2); y.view(-1)
y.expand(2, 2, 3); y.unsqueeze(0); y.squeeze(); y[0]; y[:, 1:]; y[0, 1]; y[[0, 1]]; y[y.real > 1]; y[..., None]; y.detach(); y.data; y.clone()
y[:, 1:].reshape(-1); y.imag.mH; y.t()[None].clone()
y.contiguous(); y.t().contiguous(); y[:, 1:].contiguous(); y.to(torch.complex64); y.to(torch.complex128); y.cpu(); y.flatten(); y.ravel()
y.diagonal(); y.select(0, 1); y.narrow(1, 0, 2); y.split(1)[0]; y.chunk(2)[1]; y.unbind()[0]; y.unfold(1, 2, 1); y.as_strided((2,), (1,))
y.view_as(x); y.expand_as(x); y.movedim(0, 1); y.swapaxes(0, 1); y.unflatten(1, (3, 1)); y.hsplit(3)[0]; y.tensor_split(2)[0]; torch.t(y)
torch.atleast_3d(y); y.conj(); y.conj().conj(); y.resolve_conj(); y.resolve_neg(); y.real; y.imag; y.imag.t(); y.imag[0]; y.imag.view(-1)
y.imag.conj(); y.imag.resolve_neg(); y.imag.clone(); torch._neg_view(x); torch._neg_view(x).conj(); torch._neg_view(x).real; torch._neg_view(x).imag
torch._neg_view(torch._neg_view(x)); torch._conj(x); torch.as_tensor(y); torch.asarray(y); torch.tensor(y); x.conj_physical(); y.conj_physical()
""".replace("\n", ";").split(";")  # fmt: skip
COMPUTED = """
y + 1; 1 - y; y * x; x * y; y / x; -y; y == x; y.sum(); y.sum(0); y.abs(); y.angle(); y.imag.abs(); y.imag.neg(); y.imag * 2; y @ x.t(); x @ y.t()
y.mH @ y; torch.matmul(x, y.mH); torch.linalg.matrix_norm(y); torch.linalg.solve(y[:, :2], x[:, :2]); torch.linalg.svdvals(y); torch.cat([x, y])
torch.stack([y, y.conj()]); torch.where(x.real > 1, x, y); torch.fft.fft(y); y.flip(0); y.roll(1); y.repeat(1, 2); y.tolist(); y[0, 1].item()
repr(y); str(y.imag); f"{y[0, 0]}"; complex(y[0, 1]); torch.equal(y, y.resolve_conj()); torch.allclose(y, x.conj_physical()); y.nonzero()
torch.zeros_like(y); y.new_zeros(2); torch.einsum("ij,kj->ik", y, x); torch.vdot(x[0], y[1]); torch.tensordot(y, x, 2); list(y); len(y)
y.is_contiguous(); y.t().is_contiguous(); y.numel(); y.untyped_storage().nbytes(); y.is_set_to(x); y.imag.numpy(force=True); y.numpy(force=True)
torch.is_conj(y); torch.is_conj(x); torch.is_neg(y.imag); y.view(torch.float32); torch.view_as_real(y); torch.view_as_real(y.resolve_conj())
y.numpy(); y.imag.numpy(); y.__dlpack__(); torch.nn.functional.linear(x, y); torch.vmap(lambda a: a.conj() * a)(x); torch.vmap(lambda a: a * 2)(y)
torch.func.grad(lambda a: (a.conj() * a).real.sum())(x); torch.func.jvp(lambda a: a.conj() * a, (x,), (x,)); (y == x.conj_physical()).all()
torch.arange(3.0).conj().is_conj(); y.to_sparse().to_dense(); isinstance(y, torch.Tensor); torch.is_tensor(y); torch.result_type(y, 1.0)
torch.view_as_complex(torch._neg_view(torch.view_as_real(x)))
""".replace("\n", ";").split(";")  # fmt: skip
WRITES = """
y.mul_(2j); y[0] = 1j; y[:, 1] += 1j; y.zero_(); y.copy_(x); x.copy_(y); y.add_(y); y += x; x += y; x.mul_(y); y.fill_(2j); y.imag.fill_(3)
y.imag += 1; y.imag = torch.ones(2, 3); y.real = torch.ones(2, 3); y.real.zero_(); y.t_(); y.unsqueeze_(0); y.conj_physical_(); y.sub_(1)
y.masked_fill_(x.real > 1, 5j); y.index_fill_(0, torch.tensor([0]), 1j); torch.add(x, x, out=y); torch.mul(y, 2, out=y); torch.mul(x.t(), 2, out=y); x.real.conj_physical_(); y.resize_(2, 2)
y.data = x; x.data = y; y.t()[0] = 7j; y.view(-1)[2] = 7j; y.detach_(); y.requires_grad_(); y.exp_(); y.neg_(); y.transpose_(0, 1); y.squeeze_()
y.index_put_((torch.tensor([0]),), torch.tensor(3j)); y.scatter_(0, torch.tensor([[0]]), 3j); y.resize_as_(x); torch.sum(x, 0, out=y[0])
x.mul_(2); x[0] = y[1]; x.real.copy_(y.imag); torch.manual_seed(3) and y.normal_(); y.swapaxes_(0, 1); y.lerp_(x, 0.5); torch.stack([x[0], x[1]], out=y)
""".replace("\n", ";").split(";")  # fmt: skip


def _numbers(torch: Any, requires_grad: bool = False) -> Any:
    return (torch.arange(6.0).reshape(2, 3) + 1j * torch.arange(6.0, 12).reshape(2, 3)).requires_grad_(requires_grad)


def _looks(tensor: Any) -> Any:
    return tensor.is_conj(), tensor.is_neg(), tensor.storage_offset(), tensor._is_view(), tensor.is_leaf, tensor._version


def _environment(torch: Any, requires_grad: bool = False) -> dict[str, Any]:
    x = _numbers(torch, requires_grad)
    return {"torch": torch, "x": x, "y": x.conj()}


@pytest.mark.parametrize("expression", [text.strip() for text in VIEWS if text.strip()])
def test_views(both, expression):
    def body(torch):
        found = _environment(torch)
        made = eval(expression, found)
        found["x"].mul_(1j)  # a view sees it
        return made.resolve_conj().resolve_neg(), made.stride(), _looks(made), made.data_ptr() - found["x"].data_ptr() == 8 * made.storage_offset()

    def without_addresses(torch):
        *found, _ = body(torch)
        return found

    both(body if "to(" not in expression and "[[" not in expression and expression not in _FRESH else without_addresses)


# Results in new memory, whose addresses are not compared.
_FRESH = {"y.real", "y.imag"}


@pytest.mark.parametrize("expression", [text.strip() for text in COMPUTED if text.strip()])
def test_results(both, expression):
    both(lambda torch: eval(expression, _environment(torch)), rtol=1e-4)


@pytest.mark.parametrize("statement", [text.strip() for text in WRITES if text.strip()])
def test_writes(both, statement):
    def body(torch):
        found = _environment(torch)
        message = None
        try:
            exec(statement, found)
        except RuntimeError as error:
            message = str(error).split(".")[0]
        x, y = found["x"], found["y"]
        return message, x.resolve_conj(), y.resolve_conj(), _looks(x), _looks(y), x.data_ptr() == y.data_ptr()

    both(body)


@pytest.mark.parametrize("expression", """
x.conj(); x.conj().t(); x.mH; x.conj() * x; x.conj().imag; x.conj()[0]; x.conj()[0:1] * x[1:]; x.conj().conj(); x.conj().resolve_conj(); x.conj().clone()
x.conj().reshape(-1); x.t().conj().reshape(-1); x.conj() @ x.t(); x.mH @ x; torch.stack([x.conj(), x]); x.conj().sum(0); x.conj().real
torch.vdot(x[0], x[1].conj()).reshape(1); torch._neg_view(x) * x; x.conj()[:, [0, 2, 2]]; x.conj().to(torch.complex128); x.conj().expand(2, 2, 3) * x
""".replace("\n", ";").strip(" ;").split(";"))  # fmt: skip
def test_gradients(both, expression):
    def body(torch):
        found = _environment(torch, True)
        made = eval(expression.strip(), found)
        loss = made.abs().pow(2).sum() + made.sum().abs()
        (first,) = torch.autograd.grad(loss, found["x"], create_graph=True)
        (second,) = torch.autograd.grad((first * first.conj()).real.sum(), found["x"])
        return made.detach().resolve_conj(), made.requires_grad, first.detach().resolve_conj(), second.resolve_conj()

    both(body, rtol=1e-4, strides=False)


def test_histories_of_writes(both):
    def body(torch):
        x = _numbers(torch, True)
        z = x * 1
        y = z.conj()
        y.mul_(2j)
        y[0] += x[1].conj()
        y.imag.mul_(3)
        loss = (z * z.conj()).real.sum() + (z * 3j).imag.sum() + (y * y).real.sum()
        loss.backward()
        return x.grad.resolve_conj(), z.grad_fn.name(), y.grad_fn.name(), y._version, z._version

    both(body)


def test_writes_that_autograd_refuses(both):
    def leaf(torch):
        _numbers(torch, True).conj().mul_(2)

    def lazy_leaf(torch):
        y = _numbers(torch).conj().requires_grad_()
        y.mul_(2)

    def saved(torch):
        z = _numbers(torch, True) * 1
        y = z.conj()
        loss = (y * y).sum().real
        z.mul_(2)
        loss.backward()

    for body in (leaf, lazy_leaf, saved):
        both(body, message="inplace" if body is saved else "leaf Variable that requires grad is being used in an in-place operation")


def test_leaves_hooks_and_given_gradients(both):
    def body(torch):
        y = _numbers(torch).conj().requires_grad_()
        (y * y.conj()).real.sum().backward()
        x = _numbers(torch, True)
        seen = []
        b = x.conj()
        b.register_hook(lambda g: seen.append(g.clone()))
        b.retain_grad()
        (b * 2).real.sum().backward()
        a = _numbers(torch, True)
        (a * 1).backward(y.detach())
        (c,) = torch.autograd.grad([a * 2j], [a], [y.detach()])
        return _looks(y), y.grad.resolve_conj(), seen, b.grad.resolve_conj(), x.grad.resolve_conj(), a.grad.resolve_conj(), c.resolve_conj()

    both(body)


def test_functions_and_modules(both):
    def body(torch):
        class Squared(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a * a

            @staticmethod
            def backward(ctx, g):
                (a,) = ctx.saved_tensors
                return 2 * g * a.conj()

        x = _numbers(torch, True)
        Squared.apply(x.conj()).real.sum().backward()
        parameter = torch.nn.Parameter(x.detach().conj())
        step = torch.optim.SGD([parameter], 0.1)
        (parameter.conj() * parameter).real.sum().backward()
        step.step()
        return x.grad.resolve_conj(), parameter.detach().resolve_conj(), parameter.is_leaf

    both(body)


def test_copies(both):
    def body(torch):
        x = _numbers(torch)
        y, z = x.conj(), x.conj().imag
        buffer = io.BytesIO()
        torch.save([x, y, z], buffer)
        buffer.seek(0)
        saved = torch.load(buffer)
        shallow, pickled, pair = copy.copy(y), pickle.loads(pickle.dumps(y)), copy.deepcopy([y, y])
        made = [*saved, shallow, pickled, *pair]
        together = saved[0].data_ptr() == saved[1].data_ptr(), shallow.data_ptr() == y.data_ptr(), pair[0] is pair[1]
        return [(item.resolve_conj().resolve_neg(), item.stride(), _looks(item)) for item in made], together

    both(body)


def test_without_recording_and_in_inference_mode(both):
    def body(torch):
        x = _numbers(torch, True)
        with torch.no_grad():
            y = x.conj()
            y.mul_(2)
        with torch.inference_mode():
            z = x.conj()
            looks = z.is_conj(), z.is_inference(), z.requires_grad
        return x.detach(), y.requires_grad, y.is_conj(), looks

    both(body)


@pytest.mark.parametrize("call", [
    "y.abs()", "y.angle()", "y.exp()", "y.sqrt()", "y.sin()", "y.tanh()", "y.sigmoid()", "y.log()", "y.reciprocal()", "y.square()", "y.sgn()", "y.neg()",
    "y * y", "y / x", "y + 1", "y - x", "y ** 2", "x ** y", "y.mul(x).abs()", "y.real", "y.imag", "y.imag.exp()", "y.imag * y.imag", "y.imag.abs()",
    "torch.view_as_real(y.resolve_conj())", "torch.stack([x, y])", "y.sum()", "y.prod()", "y.reshape(1)", "y.clone()", "y.to(torch.complex128)", "y.cumsum(0)",
    "torch.where(x.real > 0, y, x)", "torch.addcmul(x, y, y)", "y.expand(2).abs()", "torch.dot(y.reshape(1), x.reshape(1))", "y.imag.neg().square()",
])  # fmt: skip
@pytest.mark.parametrize("transform", [False, True])
def test_gradients_of_single_numbers(both, call, transform):
    """A tensor without dimensions, and an element of one with."""

    def total(torch, x):
        out = eval(call, {"torch": torch, "x": x, "y": x.conj()})
        return (out * (0.5 + torch.arange(1.0, 1 + out.numel()).reshape(out.shape))).sum().abs()

    def body(torch):
        found = []
        for x in (torch.tensor(1 + 2j), torch.tensor([1 + 2j, 3 - 1j])[0], torch.tensor(0.5 - 1j, dtype=torch.complex128)):
            if transform:
                found.append(torch.func.grad(lambda x: total(torch, x))(x))
            else:
                leaf = x.detach().clone().requires_grad_()
                total(torch, leaf).backward()
                found.append(leaf.grad)
        return found

    both(body)


@pytest.mark.parametrize("name", ["conj", "imag of conj"])
def test_another_dtype_for_a_lazy_view(both, name):
    both(lambda torch: (torch.ones(2, dtype=torch.complex64).conj() if name == "conj" else torch.ones(2, dtype=torch.complex64).conj().imag).view(torch.int32))


def test_devices_compute_at_once():
    x = mstorch.ones(2, dtype=mstorch.complex64, device="meta")
    assert not x.conj().is_conj() and x.conj().device.type == "meta"
